# SPDX-License-Identifier: MIT
"""fork, exec and their kin; how processes end; what is preloaded beside the shim."""
import random
import struct
import time

from harness import *


def forked(how, processes):
    spied = traced([program("fork_malloc"), how])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    trace = check_said(spied, least=3 * processes)
    equal(len(trace.processes), processes, "processes in the trace")
    return trace


def test_fork():
    trace = forked("fork", 6)
    parent = next(p for p in trace.processes if p["origin"] == "initial")
    for p in trace.processes:
        if p is not parent:
            equal(p["ppid"], parent["pid"], "ppid")
    seen = {e["pid"] for e in trace.events}
    equal(seen, {p["pid"] for p in trace.processes}, "pids with events")


def test__fork():
    forked("_Fork", 6)


def test_clone():
    forked("clone", 6)


def test_fork_double():
    forked("double", 11)


def test_fork_busy():
    spied = traced([program("fork_busy")])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    trace = check_said(spied, least=100)
    equal(len(trace.processes), 51, "processes in the trace")


def test_fork_chdir():
    """Hazard A3: the output path is relative and the program goes elsewhere."""
    path = program("fork_chdir")
    spied = traced([path, path])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    check_said(spied, least=5)
    equal(os.listdir("."), ["t.mspy"], "files made")


def test_spawn():
    path = program("spawn")
    spied = traced([path, path])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    trace = check_said(spied, least=13)
    names = collections.Counter(os.path.basename(p["exe"]) for p in trace.processes
                                if p["origin"] == "exec")
    equal(names["spawn"], 7, "processes of the program by exec")


def test_kill9():
    """Hazard D21. Recorded is saved: every call that had returned before SIGKILL is in the trace."""
    rounds = 400 if LONG else 100
    rng = random.Random(9)
    for number in range(rounds):
        threads = 1 + number % 3
        with open("count", "wb") as f:
            f.write(bytes(4096))
        child = start([program("kill9"), "count", str(threads)], "t.mspy")
        # From before the first event to after several seals.
        time.sleep(rng.choice((0.002, 0.01, 0.03, 0.06)) * (0.5 + rng.random()))
        child.kill()
        child.communicate()
        kill9_judge(number, threads)
        if os.path.exists("t.mspy"):
            os.unlink("t.mspy")


kill9_events = 0


def kill9_judge(number, threads):
    global kill9_events
    with open("count", "rb") as f:
        counts = [struct.unpack_from("Q", f.read(), 64 * i)[0] if f.seek(0) == 0 else 0
                  for i in range(threads)]
    if not os.path.exists("t.mspy"):
        need(sum(counts) == 0, f"round {number}: {counts} calls and no trace")
        return
    if sum(counts) == 0 and tool("check", "t.mspy")[0] == 3:
        return  # killed before the header was whole
    check("t.mspy", "truncated" if sum(counts) else ("truncated", "complete"))
    equal(tool("report", "t.mspy")[0], 0, f"round {number}: report's exit status")
    found = list(kill9_counts())
    found = sorted(found + [0] * (threads - len(found)))
    for wanted, got in zip(sorted(counts), found):
        # At most one call more: returned, but not yet published.
        expect(wanted <= got <= wanted + 1,
               f"round {number}: {counts} published, {found} in the trace")
    kill9_events += sum(found)


def kill9_counts():
    calls = collections.Counter()
    for r in dump("t.mspy"):
        if r["record"] == "event" and r["kind"] == "malloc" and is_own(r):
            calls[r["thread"]] += 1
    return calls.values()


def ends(how, status, complete):
    plain = run([program("endings"), how])
    spied = traced([program("endings"), how])
    same_results(plain, spied, how)
    equal(spied.status, status, f"{how}: exit status")
    found = check(spied.trace, "complete" if complete else "truncated")
    check_said(spied, least=2)
    os.unlink(spied.trace)
    return found["processes"][0]["end"]


def test_endings():
    """Hazard D21; more of it in test_ends.py."""
    equal(ends("return", 0, True), "exit", "end")
    equal(ends("exit", 3, True), "exit", "end")
    equal(ends("_exit", 4, True), "_exit", "end")
    ends("quick_exit", 5, True)
    ends("signal", signal.SIGUSR1.value, True)
    equal(ends("abort", -signal.SIGABRT, True), "signal", "end")
    equal(ends("term", -signal.SIGTERM, True), "signal", "end")


def test_start():
    """The start works wherever the kernel puts things; the heap of a program at a fixed address may
    lie low, near to small numbers."""
    for number in range(1000 if LONG else 200):
        spied = run([program("early")], "t.mspy")
        if not expect(spied.status == 0 and spied.trace, f"run {number}: {as_signal(spied.status)}"):
            break
        os.unlink("t.mspy")


def test_early():
    """Libraries that allocate before the shim's constructor, and others that interpose malloc."""
    early, between = program("libearly_alloc.so"), program("libinterpose.so")
    for libs in ([SHIM, early], [early, SHIM], [SHIM, between], [between, SHIM],
                 [SHIM, early, between], [between, early, SHIM]):
        plain = run([program("early")], preload=[x for x in libs if x != SHIM])
        spied = traced([program("early")], preload=libs)
        same_results(plain, spied, libs)
        check(spied.trace)
        trace = Trace(spied.trace)
        # Behind another interposer the shim sees that library's calls, not the program's.
        behind = between in libs and libs.index(between) < libs.index(SHIM)
        kind = "realloc" if behind else None
        own = trace.own(kind=kind) if kind else trace.own()
        expect(len(own) >= (500 if behind else 1500), f"{libs}: {len(own)} own events")
        expect(sum(e["kind"] == "malloc" for e in trace.events) >= 500, f"{libs}: malloc events")
        os.unlink(spied.trace)


if __name__ == "__main__":
    main(globals())
