# SPDX-License-Identifier: MIT
"""How processes end, by their own record and by what their parent learned. Hazard D21."""
import time

from spawns import *

# What ends.c does: end as the report has it, status as it has it, what the parent sees (minus
# signal).
WAYS = {
    "exit": ("exit", 3, 3), "_exit": ("_exit", 4, 4), "_Exit": ("_exit", 5, 5),
    "quick_exit": ("exit|_exit|quick_exit", 6, 6), "exit256": ("exit", 255, 255),
    "abort": ("signal", 6, -6), "syscall": ("exit|_exit|killed", 8, 8),
    "thread-exit": ("exit", 17, 17), "thread-segv": ("signal", 11, -11),
    "pthread_exit": ("exit", 0, 0), "segv": ("signal", 11, -11), "fpe": ("signal", 8, -8),
    "term": ("signal", 15, -15), "kill": ("killed", 9, -9), "ill": ("signal", 4, -4),
    "overflow": ("signal|killed", 11, -11), "usr2": ("signal", 12, -12),
    "realtime": ("signal", 37, -37), "paused": ("signal", 15, -15),
    "exit-in-handler": ("exit", 41, 41), "_exit-in-handler": ("_exit", 51, 51),
    "ignored": ("exit", 20, 20), "default-ignored": ("exit", 20, 20), "handled": ("exit", 20, 20),
    "default-again": ("signal", 15, -15), "reset-hand": ("signal", 15, -15),
}


def test_children():
    """Children that end in each way, as untraced, and the tree tells which."""
    spied, told, tree = same([program("ends")], verdict=("complete", "truncated"))
    equal(len(told.note("way")), len(WAYS), "children")
    check_waits(told, tree)
    for n in told.note("way"):
        end, status, seen = WAYS[n["way"]]
        equal(n["ended"], seen, f"{n['way']}: what the parent saw")
        found = tree.of(n["child"])
        need(len(found) == 1, f"{n['way']}: {len(found)} images")
        found = found[0]
        expect(found["end"] in end.split("|"), f"{n['way']}: end {found['end']}, wanted {end}")
        equal(found["status"], status, f"{n['way']}: status")
        expect(found["events"] >= 20, f"{n['way']}: {found['events']} events")


def alone(how, status, ends):
    """A program by itself, whose end nobody in the trace waits for."""
    spied, told, tree = same([program("endings"), how], verdict=("complete", "truncated"))
    equal(spied.status, status, f"{how}: exit status")
    check_said(spied, least=2)
    found = tree.processes[0]
    expect(found["end"] in ends.split("|"), f"{how}: end {found['end']}, wanted {ends}")
    if found["end"] not in ("killed", "open"):
        equal(found["status"], abs(status), f"{how}: status")
        check(spied.trace, "complete")
    os.unlink(spied.trace)


def test_alone():
    alone("return", 0, "exit")
    alone("exit", 3, "exit")
    alone("_exit", 4, "_exit")
    alone("_Exit", 6, "_exit")
    alone("quick_exit", 5, "exit|_exit|quick_exit")
    alone("signal", signal.SIGUSR1.value, "exit")
    alone("abort", -signal.SIGABRT, "signal")
    alone("segv", -signal.SIGSEGV, "signal")
    alone("fpe", -signal.SIGFPE, "signal")
    alone("term", -signal.SIGTERM, "signal")
    alone("overflow", -signal.SIGSEGV, "signal|killed|open")


def test_dispositions():
    """What a program sees of its signals is what it sees untraced, in a child and in an image too."""
    spied, told, tree = same([program("dispositions"), program("dispositions")])
    compare(told, tree, spied, processes=3)
    equal(sum("H" in n["line"].split(": ")[1] for n in told.note("stack")), 1, "lines with a handler")


def test_ignored_before():
    """A signal that was ignored before the program began stays so, there and in its children."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):
        shell = f"trap '' {signal.Signals(number).name[3:]}; {program('dispositions')} " \
                f"{program('dispositions')}"
        spied, told, tree = same(["sh", "-c", shell])
        equal(spied.status, 0, "exit status")
        os.unlink(spied.trace)


def test_kill_spawning():
    """Hazard D21: SIGKILL of a program that makes processes all the time: those that it had said to
    be over are in the tree."""
    rounds, children = 60 if LONG else 20, 0
    for number in range(rounds):
        child = start([program("spawn_many"), "100000", still("nothing")], "t.mspy")
        time.sleep(0.05 + 0.01 * (number % 15))
        child.kill()
        out, _ = child.communicate()
        time.sleep(0.05)  # the last child may go on
        if not os.path.exists("t.mspy"):
            equal(out, b"", f"round {number}: children and no trace")
            continue
        # The last line may be cut.
        told = Told(Result(-9, out[:out.rfind(b"\n") + 1], b"", "t.mspy"))
        children += len(told.note("started"))
        check("t.mspy", ("truncated", "complete"))
        kill_judge(f"round {number}", told.note("started"), Tree("t.mspy"))
        os.unlink("t.mspy")
    expect(children > 10 * rounds, f"only {children} children in all")


def kill_judge(what, started, tree):
    forks = {(f["child"], f["kind"]) for f in tree.forks if f["ok"]}
    images = {p["pid"] for p in tree.processes}
    reaped = {w["child"] for w in tree.waits}
    for name, missing in (
            ("forks", [n["started"] for n in started if (n["started"], n["way"]) not in forks]),
            ("processes", [n["started"] for n in started if n["started"] not in images]),
            ("waits", [n["started"] for n in started if n["started"] not in reaped])):
        expect(not missing, f"{what}: {name} missing: {missing[:3]} of {len(started)}")
    expect(tree.processes[0]["end"] in ("killed", "open"), f"end {tree.processes[0]['end']}")


def test_terminated():
    """SIGTERM and SIGINT from outside, while the program sleeps: one that dies of them is recorded so."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        child = start(["sleep", "30"], "t.mspy")
        for _ in range(200):
            time.sleep(0.01)
            if os.path.exists("t.mspy") and in_sleep(child.pid):
                break
        child.send_signal(number)
        child.communicate()
        equal(child.returncode, -number, "exit status")
        found = Tree("t.mspy").processes[0]
        expect(found["end"] in ("signal", "killed"), f"{number}: end {found['end']}")
        if found["end"] == "signal":
            equal(found["status"], number, "status")
        os.unlink("t.mspy")


def in_handler(mode):
    wanted = {"raise": -signal.SIGTERM, "default": -signal.SIGALRM, "exec": 0}
    for how in "_exit exec execfail spawn vfork _Fork quick_exit raise default".split():
        ends = collections.Counter()
        for _ in range(40 if LONG else 8):
            spied = traced([program("in_handler"), how, program("nothing")], env=mode)
            ends[spied.status] += 1
            found = check(spied.trace, ("complete", "truncated"))
            expect(len(found["processes"]) >= 1, f"{how}: no process")
            os.unlink(spied.trace)
        equal(set(ends), {wanted.get(how, 7)}, f"{how}: how it ended, {ends}")


def test_in_handler():
    """Hazard D21: ends, execs and children in a handler that interrupts an allocation."""
    in_handler({})


def test_in_handler_exact():
    """The same in exact mode, where the interrupted call's system calls are answered by memspy."""
    in_handler({"MEMSPY_KERNEL": "exact"})


def test_pipe():
    """The writer of a pipe that nobody reads any more ends by SIGPIPE, as the shell sees it."""
    script = "(yes; echo status $? >&2) | head -n 1; exit 3"
    for shell in ("sh", "bash"):
        have(shell)
        plain = run([shell, "-c", script])
        spied = traced([shell, "-c", script])
        same_results(plain, spied, shell)
        equal(spied.err, b"status 141\n", f"{shell}: stderr")
        found = [p for p in Tree(spied.trace).processes if os.path.basename(p["exe"]) == "yes"]
        equal([(p["end"], p["status"]) for p in found], [("signal", signal.SIGPIPE)], "end of yes")
        os.unlink(spied.trace)


def in_sleep(pid):
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[0] in ("35", "230", "115", "101")


if __name__ == "__main__":
    main(globals())
