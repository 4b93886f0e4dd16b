# SPDX-License-Identifier: MIT
"""Programs that do what a tool in their midst would rather they did not: legal all the same."""
import re

from harness import *


def notes(result):
    """The values that a program noted, {key: value} over all its lines."""
    return {k: v for word, keys, _ in result.said() if word == "note" for k, v in keys.items()}


def test_dup2_race():
    """The program takes the trace's number while threads write: no byte of theirs goes astray."""
    spied = traced([program("dup2_race")])
    equal(os.path.getsize("mine"), 0, "bytes of the trace in the program's file")
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    said = notes(spied)
    expect(int(said["taken"]) >= 100, f"the number was taken {said['taken']} times")
    equal(report(spied.trace)["calls"]["malloc"], int(said["made"]), "calls of malloc")


def test_environ_gone():
    for how in ("clearenv", "null", "own"):
        spied = traced([program("environ_gone"), how])
        equal(spied.status, 0, f"{how}: exit status")
        check(spied.trace)
        trace = check_said(spied, least=4)
        equal(len(trace.processes), 2, f"{how}: processes in the trace")
        equal(len(trace.per_thread(trace.own())), 5, f"{how}: threads with own events")
        os.unlink(spied.trace)


def test_fork_in_handler():
    """Wherever in a recorded call the handler comes, the child is in the trace."""
    spied = traced([program("fork_in_handler")])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    found = report(spied.trace)
    children = [keys for word, keys, _ in spied.said() if word == "process"]
    equal(len(children), 200, "children that the program had")
    known = {(str(p["pid"]), p["origin"]) for p in found["processes"]}
    missing = [c for c in children if (c["pid"], c["origin"]) not in known]
    expect(not missing, f"{len(missing)} of {len(children)} children missing: {missing[:5]}")
    expect(found["calls"]["malloc"] >= int(notes(spied)["made"]), "calls of malloc are missing")


def late_free(how):
    spied = traced([program("late_free"), how])
    equal(spied.status, 0, f"{how}: exit status")
    check(spied.trace)
    check_said(spied, least=0)
    size = os.path.getsize(spied.trace)
    expect(size < 4 << 20, f"{how}: the trace has {size} bytes")
    # Threads share one late thread, so what counts is how often each address came and went.
    trace, live = Trace(spied.trace), collections.Counter()
    for e in trace.events:
        if e["kind"] in FREES:
            live[address(e["ptr"])] -= 1
        elif e["kind"] in ALLOCS:
            live[address(e["ptr"])] += e["thread"] > 1
    made = [e for e in trace.events if e["thread"] > 1 and e["kind"] in ALLOCS]
    expect(len(made) >= 200, f"{how}: {len(made)} allocations in threads")
    left = sum(n for n in live.values() if n > 0)
    equal(left, 0, f"{how}: buffers of threads whose free is not in the trace")
    os.unlink(spied.trace)


def test_late_free():
    late_free("strerror")
    late_free("dlsym")


def test_late_free_threads():
    """What libc frees when threads have ended is one thread more, not one each."""
    for how in ("strerror", "dlsym"):
        spied = traced([program("late_free"), how])
        equal(report(spied.trace)["processes"][0]["threads"], 202, f"{how}: threads")
        os.unlink(spied.trace)


def test_preload_kept():
    """Hazard B14: a child has the preloads that the program chose for it, and the shim."""
    mark = program("libmark.so")
    cmd = [program("preload_kept"), mark]
    plain = run(cmd, preload=[mark])
    spied = traced(cmd, preload=[mark])
    blank = lambda out: re.sub(rb"pid=\d+", b"", out)
    equal(blank(spied.out), blank(plain.out), "stdout")
    equal(spied.out.count(b"note mark"), 3, "programs with the library")
    check(spied.trace)
    trace = check_said(spied, least=8)
    execs = sum(p["origin"] == "exec" for p in trace.processes)
    equal(execs, 4, "processes by exec")


def as_untraced(what, cmd, err):
    """A run with stderr `err`, where memspy has a message, is as one without memspy."""
    plain = run(cmd, stderr=err, timeout=20)
    spied = run(cmd, "t.mspy", stderr=err, timeout=20)
    equal((spied.status, spied.out), (plain.status, plain.out), f"{what}: status, stdout")
    equal(spied.status, 7, f"{what}: exit status")
    return spied


def exists(what, err):
    """The message is that t.mspy exists."""
    with open("t.mspy", "w") as f:
        f.write("mine")
    spied = as_untraced(what, [program("busy"), "1000"], err)
    check("t.mspy.1")
    check_said(spied, Trace("t.mspy.1"))


def test_stderr_without_reader():
    """No SIGPIPE of memspy's."""
    reader, writer = os.pipe()
    os.close(reader)
    exists("pipe without reader", writer)


def test_stderr_full():
    """A pipe that nobody empties is not waited for."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x")
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    exists("full pipe", writer)
    os.close(reader)


def no_room(what, err, *args):
    """The message is that the trace cannot grow."""
    as_untraced(what, [program("no_room"), *args], err)
    found = report("t.mspy")["trace"]
    expect(found["events"] > 500, f"{what}: {found['events']} events in the trace")
    expect(found["truncated"] or found["lost"], f"{what}: the trace had room: {found}")


def test_stderr_file():
    """No SIGXFSZ of memspy's, and no line, where stderr is a file that may not grow."""
    with open("err", "wb") as err:
        no_room("no room", err, "0")
    equal(os.path.getsize("err"), 0, "bytes on stderr")


def test_stderr_taken():
    """A file of the program's that got number 2 is not stderr."""
    no_room("file as number 2", subprocess.PIPE, str(2 << 20), "data")
    with open("data", "rb") as f:
        equal(f.read(), b"mine\n", "the file of the program's")


def exact(name, *ways):
    """Exact mode: each way ends as without memspy; every block has its mapping in the trace."""
    for how in ways:
        cmd = [program(name), how]
        plain = run(cmd)
        equal(plain.status, 7, f"{how}: exit status untraced")
        spied = traced(cmd, env={"MEMSPY_KERNEL": "exact"})
        same_results(plain, spied, how)
        if spied.status == 7:
            check(spied.trace)
            trace = check_said(spied, least=2)
            mapped = len(trace.own(kind="malloc", path="mmap"))
            equal(mapped, len(trace.own(kind="malloc")), f"{how}: mallocs that mapped")
        os.unlink(spied.trace)


def test_sigsys_blocked():
    exact("sigsys_blocked", "syscall", "sigprocmask", "pthread_sigmask", "ignore", "default")


def test_sigsys_inside():
    exact("sigsys_inside", "thread", "handler", "ppoll", "context")


def test_fork_chain():
    """A process has no more mappings for having had many ancestors."""
    plain = run([program("fork_chain")])
    spied = traced([program("fork_chain")])
    equal((spied.status, spied.err), (plain.status, plain.err), "status, stderr")
    check(spied.trace)
    trace = check_said(spied, least=400)
    expect(len(trace.processes) >= 200, f"{len(trace.processes)} processes in the trace")
    grown = [int(notes(r)["last"]) - int(notes(r)["first"]) for r in (plain, spied)]
    expect(grown[1] - grown[0] < 20, f"mappings from first to last: untraced, traced {grown}")


def test_big_environ():
    spied = traced([program("big_environ")])
    equal(spied.status, 7, "exit status")
    check(spied.trace)
    check_said(spied, least=2)


def test_no_usable():
    """Blocks of an allocator that does not tell their sizes are not measured by libc."""
    other = program("libno_usable.so")
    plain = run([program("busy")], preload=[other])
    spied = traced([program("busy")], preload=[SHIM, other])
    same_results(plain, spied, "busy")
    equal(spied.status, 7, "exit status")
    check(spied.trace)
    trace = check_said(spied)
    known = [e for e in trace.events if e.get("usable")]
    expect(not known, f"{len(known)} events with a usable size: {known[:1]}")


if __name__ == "__main__":
    main(globals())
