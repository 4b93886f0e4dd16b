# SPDX-License-Identifier: MIT
"""The trace of examples/alloc_ladder tells the prices that the program itself measures, untraced."""
import bisect

from workloads import *

TRIES = 6  # machines are noisy


def functions(binary):
    """Sorted (address, name) of the program's own functions."""
    out = subprocess.run(["nm", "--defined-only", binary], stdout=subprocess.PIPE, check=True)
    return sorted((int(a, 16), name) for a, kind, name in
                  (line.split() for line in out.stdout.decode().splitlines()) if kind in "tT")


def prices(trace, binary):
    """p50 of malloc plus p50 of free in ns, by calling function, net of nothing but the floor."""
    symbols, base = functions(binary), None
    costs = collections.defaultdict(list)
    for r in dump(trace):
        if r["record"] == "modules":
            base = base or module_base(r, binary)
        elif r["record"] == "event" and r.get("ns") is not None and r["kind"] in ("malloc", "free"):
            costs[address(r["caller"]), r["kind"]].append(r["ns"])
    need(base is not None, "the program is not among the modules")
    by_function = collections.defaultdict(dict)
    for (caller, kind), ns in costs.items():
        at = bisect.bisect(symbols, (caller - base, "~")) - 1
        if at >= 0:
            by_function[symbols[at][1]][kind] = sorted(ns)[len(ns) // 2]
    return {name: sum(c.values()) for name, c in by_function.items() if len(c) == 2}


def module_base(record, binary):
    for m in record["modules"]:
        if os.path.basename(m["path"]) == os.path.basename(binary):
            return address(m["start"]) - m["offset"]
    return None


def once():
    binary = os.path.join(BUILD, "examples", "alloc_ladder")
    cmd = [binary, "--pairs", "2000", "--runs", "11", "--json"]
    direct = json.loads(run(cmd).out)
    spied = traced(cmd)
    check(spied.trace)
    rows = {r["function"] + "_untouched": r["untouched"]["median_ns"] for r in direct["rows"]}
    found = prices(spied.trace, binary)
    resolution = report(spied.trace)["trace"]["resolution_ns"]
    os.unlink(spied.trace)
    wrong = []
    wanted = rows["malloc_1m_mmap_untouched"] / rows["malloc_1m_kept_untouched"]
    ratio = found["malloc_1m_mmap_untouched"] / max(found["malloc_1m_kept_untouched"], 0.001)
    if not 0.75 * wanted <= ratio <= 1.25 * wanted:
        wrong.append(f"mmap/kept: trace {ratio:.0f}, direct {wanted:.0f}")
    for name in ("malloc_32_untouched", "malloc_512_untouched"):
        if abs(found[name] - rows[name]) > 2 * max(resolution, 1):  # two timed calls a pair
            wrong.append(f"{name}: trace {found[name]:.1f} ns, direct {rows[name]:.1f} ns, "
                         f"resolution {resolution:.1f} ns a call")
    print("trace", {k: round(v, 1) for k, v in found.items()}, "direct", rows, resolution)
    return wrong


def test_ladder():
    for _ in range(TRIES):
        wrong = once()
        if not wrong:
            return
    for text in wrong:
        expect(False, text)


if __name__ == "__main__":
    main(globals())
