# SPDX-License-Identifier: MIT
"""Counts against two independent counters.

The preloaded counter (count_preload.c) runs alone, in a run of its own: the programs are
deterministic, so both see the same calls, but for the start-up part: calls made before the shim's
own start are forwarded, not recorded. Their number is in the trace (`early_calls` of the process
record), and nothing else may differ: per entry point the counter may see more by at most that
number, and over all entry points by exactly that number. All runs have an environment of the same
variables, since programs copy it (perl makes six calls for each).
"""
import re
import struct

from workloads import *

# The order of count_preload.c.
KINDS = ALLOCS + ["free", "free_null"]


# MEMSPY_TRACE is what the shim itself adds.
VARIABLES = {"COUNT_OUT": "counts", "MEMSPY_OUT": "t.mspy", "MEMSPY_TRACE": 33 * "0" + os.getcwd()}


def counted(cmd, input):
    """Calls of each entry point by the preloaded counter."""
    done = run(cmd, env=dict(FIXED, **VARIABLES, LD_PRELOAD=program("libcount_preload.so")),
               input=input)
    with open("counts", "rb") as f:
        values = struct.unpack_from(f"{len(KINDS)}Q", f.read())
    return done, dict(zip(KINDS, values))


def spied_on(cmd, input, env=None):
    done = traced(cmd, env=dict(FIXED, COUNT_OUT="counts", **env or {}), input=input)
    check(done.trace)
    return done, report(done.trace)


def early_calls(found):
    return sum(p["early_calls"] for p in found["processes"])


def against_counter(cmd, input=None, least=1000):
    plain, wanted = counted(cmd, input)
    spied, found = spied_on(cmd, input)
    same_results(plain, spied, cmd)
    early = early_calls(found)
    calls = {k: found["calls"].get(k, 0) for k in KINDS}
    calls["free_null"] = found["free_null"]
    calls["free"] -= found["free_null"]
    missing = {k: wanted[k] - calls[k] for k in KINDS if wanted[k] != calls[k]}
    print(f"{os.path.basename(cmd[0])}: counter {sum(wanted.values())} calls, early {early}, "
          f"missing {missing}")
    expect(sum(wanted.values()) >= least, f"only {sum(wanted.values())} calls")
    expect(all(n > 0 for n in missing.values()), f"the trace has calls that nobody made: {missing}")
    equal(sum(missing.values()), early, f"calls missing ({missing}) and early calls")
    expect(early < 20, f"{early} calls before the shim started")
    os.unlink(spied.trace)


def test_counter_own():
    against_counter([program("mix"), "1", "1", "60000"])
    against_counter([program("mix"), "2", "1", "60000"])


def counter_workload(name):
    w = WORKLOADS[name]
    w.prepare()
    against_counter(w.cmd, w.input, w.least)


def test_counter_sqlite3():
    counter_workload("sqlite3")


def test_counter_jq():
    counter_workload("jq")


def test_counter_xz():
    counter_workload("xz")


def test_counter_perl():
    counter_workload("perl")


def valgrind_totals(cmd, input):
    """(allocs, frees, bytes) of valgrind's line "total heap usage".

    Valgrind counts a realloc of a block as one alloc and one free, with the new size as bytes, a
    realloc to 0 as a free, free(NULL) not at all, and calloc's product as bytes.
    """
    done = run(["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--leak-check=no",
                "--log-file=valgrind.log", *cmd], env=dict(FIXED, **VARIABLES), input=input)
    with open("valgrind.log") as f:
        text = f.read()
    match = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", text)
    need(match, f"valgrind says no totals: {text[-500:]}")
    return done, tuple(int(n.replace(",", "")) for n in match.groups())


def trace_totals(trace):
    """The same three by valgrind's way of counting, and the sizes of all allocations."""
    allocs = frees = size = 0
    for e in dump(trace):
        if e["record"] != "event" or e.get("failed"):
            continue
        if e["kind"] in FREES:
            frees += 1
        elif e.get("freed"):  # a realloc to 0
            frees += 1
        elif e["kind"] in ALLOCS:
            frees += address(e.get("old")) != 0
            allocs += 1
            size += e["size"]
    return allocs, frees, size


def against_valgrind(cmd, input=None, least=1000):
    have("valgrind")
    plain, wanted = valgrind_totals(cmd, input)
    spied, totals = spied_on(cmd, input)
    equal((spied.status, spied.out), (plain.status, plain.out), f"{cmd}: results under valgrind")
    early = early_calls(totals)
    found = trace_totals(spied.trace)
    differs = tuple(w - f for w, f in zip(wanted, found))
    print(f"{os.path.basename(cmd[0])}: valgrind {wanted}, trace {found}, early {early}, "
          f"missing {differs}")
    expect(wanted[0] >= least, f"only {wanted[0]} allocs")
    # The start-up part, as above: early calls are allocs or frees that the trace lacks.
    equal(differs[0] + differs[1], early, "calls that valgrind has more, and early calls")
    expect(min(differs) >= 0, f"the trace has more than valgrind: {differs}")
    expect(differs[2] == 0 or early > 0, f"bytes differ by {differs[2]}")
    os.unlink(spied.trace)


def test_valgrind_own():
    for seed in ("1", "2", "3"):
        against_valgrind([program("mix"), seed, "1", "20000"])


def valgrind_workload(name):
    w = WORKLOADS[name]
    w.prepare()
    against_valgrind(w.cmd, w.input, w.least)


def test_valgrind_sqlite3():
    valgrind_workload("sqlite3")


def test_valgrind_jq():
    valgrind_workload("jq")


def test_valgrind_xz():
    valgrind_workload("xz")


if __name__ == "__main__":
    main(globals())
