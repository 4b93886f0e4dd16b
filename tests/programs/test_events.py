# SPDX-License-Identifier: MIT
"""Programs that say what they did: the trace must tell the same, call by call or by count."""
import re

from harness import *


def same(name, *args, least=1, **kw):
    """Runs a program untraced and traced; then compares the trace with what it said."""
    cmd = [program(name), *args]
    plain = run(cmd, **{k: v for k, v in kw.items() if k != "quiet"})
    spied = traced(cmd, **kw)
    equal(spied.status, plain.status, "exit status")
    equal(spied.err, plain.err, "stderr")
    # Addresses and ids differ from run to run; so may usable sizes, which depend on what lies free.
    blank = lambda out: re.sub(rb"0x[0-9a-f]+|(pid|tid|usable)=\d+", b"", out)
    expect(blank(plain.out) == blank(spied.out), f"stdout differs: {plain.out!r} {spied.out!r}")
    check(spied.trace)
    return spied, check_said(spied, least=least)


def test_entry_points():
    spied, trace = same("entry_points", least=100)
    calls = report(spied.trace)["calls"]
    own = collections.Counter(e["kind"] for e in trace.own())
    for kind, n in (("malloc", 10), ("calloc", 10), ("realloc", 20), ("reallocarray", 5),
                    ("memalign", 5), ("aligned_alloc", 5), ("posix_memalign", 5), ("valloc", 5),
                    ("pvalloc", 5), ("free", 45)):
        equal(own[kind], n, f"own {kind}")
        expect(calls.get(kind, 0) >= n, f"report: calls.{kind} is {calls.get(kind)}")
    check_live(spied.trace, trace)


def check_live(path, trace):
    """live in the report equals a replay of all events; none of the program's own blocks lives."""
    blocks, peak, size, unknown = {}, 0, 0, 0
    for e in trace.events:
        if e.get("failed"):
            continue
        kind, ptr = e["kind"], address(e.get("ptr"))
        old = ptr if kind in FREES or e.get("freed") else address(e.get("old"))
        if (kind in FREES or kind.startswith("realloc")) and old:
            unknown += old not in blocks
            size -= blocks.pop(old, (0,))[0]
        if kind in ALLOCS and ptr and not e.get("freed"):
            blocks[ptr] = (e["size"], e)
            size += e["size"]
            peak = max(peak, size)
    live = report(path)["live"]
    equal(live["blocks"], len(blocks), "live.blocks")
    equal(live["bytes"], size, "live.bytes")
    equal(live["peak_bytes"], peak, "live.peak_bytes")
    expect(not [e for _, e in blocks.values() if is_own(e)], "a block of the program's own lives")


def test_harness():
    """The comparison itself notices a lost, an added and a changed event."""
    spied = traced([program("entry_points")])
    changes = (
        lambda t: t.events.remove(t.own()[20]),
        lambda t: t.events.append(dict(t.own()[-1])),
        lambda t: t.own()[7].update(ptr="0x10"),
        lambda t: t.own()[4].update(size=77),
        lambda t: t.own()[7].update(usable=77),
        lambda t: t.own(kind="realloc")[1].update(old="0x0"),
        lambda t: t.own()[7].update(kind="valloc"),
    )
    trace = Trace(spied.trace)
    equal(wrong_with(spied, trace, lambda t: None), 0, "wrong in an unchanged trace")
    for number, change in enumerate(changes):
        expect(wrong_with(spied, trace, change) > 0, f"change {number} is not noticed")


def wrong_with(spied, trace, change):
    """How many complaints there are about a changed copy of a trace."""
    import copy
    import harness
    changed, kept = copy.deepcopy(trace), list(harness._wrong)
    change(changed)
    check_said(spied, changed)
    complaints = len(harness._wrong) - len(kept)
    harness._wrong[:] = kept
    return complaints


def test_free_sized():
    spied = traced([program("free_sized")])
    if b"absent" in spied.out:
        raise Skip("libc has no free_sized")
    check_said(spied, least=20)


def test_failures():
    spied, trace = same("failures", least=30)
    failed = [e for e in trace.own() if e.get("failed")]
    equal(report(spied.trace)["failed"]["calls"], len(failed), "report: failed.calls")


def test_errno_kept():
    spied, trace = same("errno_kept", least=0)
    calls = next(int(keys["calls"]) for word, keys, _ in spied.said() if word == "note")
    expect(len(trace.own()) > calls * 0.9, f"own events: {len(trace.own())} of {calls} calls")


def test_errno_kept_exact():
    cmd = [program("errno_kept")]
    spied = traced(cmd, env={"MEMSPY_KERNEL": "exact"})
    equal((spied.status, b"need" in spied.out), (0, False), "status, complaints")


def test_tcache_exact():
    same("tcache_exact", least=300)


def test_tcache_exact_timed():
    same("tcache_exact", least=300, env={"MEMSPY_TIMING": "1"})


def test_threads():
    cmd = [program("threads")]
    spied = traced(cmd)
    check(spied.trace)
    trace = Trace(spied.trace)
    said = sorted((int(k["n"]), int(k["bytes"])) for w, k, _ in spied.said() if w == "note")
    groups = trace.per_thread(trace.own(kind="malloc"))
    equal(sorted((len(g), sum(e["size"] for e in g)) for g in groups), said, "calls, bytes per thread")
    equal(len(said), 8, "threads that ran")
    alloc = report(spied.trace)["alloc"]
    own = sum(n for n, _ in said)
    expect(sum(p["calls"] for p in alloc.values()) >= own, f"report counts too few: {alloc}")


def test_thread_exit():
    spied, trace = same("thread_exit", least=2)
    groups = trace.per_thread(trace.own(kind="malloc"))
    equal([len(g) for g in groups], [2] * 200, "own mallocs per thread")


def test_signal_malloc():
    spied = traced([program("signal_malloc")])
    equal(spied.status, 0, "exit status")
    # A buffer that is full while a handler interrupts memspy cannot be sealed: those are lost.
    lost = check(spied.trace, ("complete", "truncated"), lost=None)["lost_events"]
    said = next(keys for word, keys, _ in spied.said() if word == "note")
    trace = Trace(spied.trace)
    missing = 0
    for kind in ("malloc", "free"):
        found, wanted = len(trace.own(kind=kind)), int(said["main"]) + int(said["handler"])
        missing += wanted - found
    # What is not recorded is counted as lost; that is a few at most.
    equal(missing, lost, "calls not recorded, and those counted as lost")
    expect(missing < 200, f"{missing} calls not recorded")
    equal(len(trace.own(kind="malloc", size=300)), int(said["main"]), "the main program's own")


def test_jump():
    spied = traced([program("jump")])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    check_said(spied)


def test_cancel():
    spied = traced([program("cancel")])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    check_said(spied, least=2)


def test_map_direct():
    spied, trace = same("map_direct", least=20)
    own = trace.own(kind="mmap")
    expect(any(e.get("ns") is not None for e in own), "own mmap calls have no cost")


if __name__ == "__main__":
    main(globals())
