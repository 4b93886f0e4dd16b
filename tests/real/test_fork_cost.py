# SPDX-License-Identifier: MIT
"""The trace of examples/fork_cost tells the prices that the program measures itself."""
import statistics

from workloads import *
from spawns import *

TRIES = 4  # machines are noisy
KINDS = {"fork": "fork", "fork_exec": "fork", "vfork_exec": "vfork", "posix_spawn": "posix_spawn"}
WRITING_NS = 6000


def rows_of(out):
    """The lines of --rows: [(name, {key: number})]."""
    rows = []
    for line in out.decode().splitlines():
        words = line.split()
        if words and words[0] == "row":
            rows.append((words[1], {k: int(v) for k, v in (w.split("=") for w in words[2:])}))
    return rows


def once(runs, touched):
    binary = os.path.join(BUILD, "examples", "fork_cost")
    need(os.path.exists(binary), f"{binary} is not there")
    spied = traced([binary, "--runs", str(runs), "--touched", touched, "--rows"])
    equal(spied.status, 0, "exit status")
    check("t.mspy")
    tree, rows, wrong, found = Tree("t.mspy"), rows_of(spied.out), [], {}
    equal(len(rows), 4 * (touched.count(",") + 2), "rows")
    for name, row in rows:
        forks = [f for f in tree.forks if f["kind"] == KINDS[name] and f["ok"]
                 and row["begin_ns"] <= f["at"] <= row["end_ns"]]
        equal(len(forks), row["runs"], f"forks in the row {name} {row}")
        ns = statistics.median(f["ns"] for f in forks)
        around = statistics.median(f["own_ns"] or 0 for f in forks)
        own = row["median_ns"]
        print(f"{name:12} {row['touched']:4} {row['untouched']:4} MiB: own {own / 1e3:8.1f} us, trace "
              f"{ns / 1e3:8.1f}, recorder {around / 1e3:5.1f}")
        # The program's clock runs around the hook, so that what the recorder does there is in its
        # figure only. It tells all of that but the writing of its block, just after the fork has
        # made every page of the caller one to be copied. fork_raw compares ns itself.
        if abs(ns + around - own) > max(0.05 * own, 5000 + WRITING_NS):
            wrong.append(f"{name} at {row['touched']}+{row['untouched']} MiB: own {own} ns, trace {ns} "
                         f"and the recorder {around}")
        if abs(statistics.median(f["pte_kb"] for f in forks) - row["pte_kb"]) > 16:
            wrong.append(f"{name}: VmPTE {forks[0]['pte_kb']}, own {row['pte_kb']}")
        found[name, row["touched"], row["untouched"]] = ns, forks
    wrong += judge_prices(found, tree.report)
    os.unlink("t.mspy")
    return wrong


def judge_prices(found, report_found):
    """Untouched memory is as good as none; the model made of the other rows predicts the largest."""
    wrong = []
    nothing, untouched = found["fork", 0, 0][0], found["fork", 0, 256][0]
    if abs(untouched - nothing) > max(0.25 * nothing, 10000):
        wrong.append(f"fork: untouched 256 MiB {untouched} ns, nothing {nothing} ns")
    largest = max(touched for _, touched, _ in found)
    points = [(f["pte_kb"], f["ns"]) for (name, touched, _), (_, forks) in found.items()
              for f in forks if name == "fork" and touched < largest]
    base, slope = line(points)
    ns, forks = found["fork", largest, 0]
    pte = statistics.median(f["pte_kb"] for f in forks)
    if abs(base + slope * pte - ns) > 0.2 * ns:
        wrong.append(f"{largest} MiB from the other rows: {base + slope * pte:.0f} ns, found {ns:.0f}")
    model = report_found["fork_model"]
    print(f"slope {slope:.1f} ns per KiB of VmPTE from the smaller rows; model {model}")
    predicted = model["base_ns"] + model["ns_per_kb_pte"] * pte
    if abs(predicted - ns) > 0.2 * ns:
        wrong.append(f"{largest} MiB by the report's model: {predicted:.0f} ns, found {ns:.0f}")
    if model["r2"] < 0.8:
        wrong.append(f"the model's r2 is {model['r2']}")
    cost = report_found["spawn_cost"]
    if not all(cost[k]["n"] and cost[k]["p50_ns"] for k in ("fork_exec", "vfork_exec", "posix_spawn")):
        wrong.append(f"spawn_cost {cost}")
    return wrong


def line(points):
    """Median of the slopes between the groups of equal size, and the base that fits: no outlier
    counts."""
    groups = collections.defaultdict(list)
    for x, y in points:
        groups[x].append(y)
    middles = sorted((x, statistics.median(ys), len(ys)) for x, ys in groups.items() if len(ys) > 5)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(middles) for b in middles[i + 1:]
              if b[0] - a[0] > 32]
    slope = statistics.median(slopes)
    return statistics.median(y - slope * x for x, y, _ in middles), slope


def test_rows():
    for _ in range(TRIES):
        wrong = once(100 if not LONG else 300, "0,64,128,256")
        if not wrong:
            return
        print("once more:", *wrong, sep="\n    ")
    for text in wrong:
        expect(False, text)


def test_words():
    """The report says in words that untouched memory does not matter."""
    binary = os.path.join(BUILD, "examples", "fork_cost")
    traced([binary, "--runs", "60", "--touched", "0,64,128"])
    for words in (("forks", "t.mspy"), ("report", "t.mspy")):
        status, out, err = tool(*words)
        equal((status, err), (0, ""), f"memspy {words[0]}: status, stderr")
        print(out[:6000])
        expect("untouched" in out.lower(), f"memspy {words[0]} does not speak of untouched memory")


if __name__ == "__main__":
    main(globals())
