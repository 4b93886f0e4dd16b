# SPDX-License-Identifier: MIT
"""vfork, whose child runs in its parent's memory until it ends or becomes another program."""
from spawns import *


def counts(tree):
    return collections.Counter((p["origin"], p["traced"]) for p in tree.processes)


def test_vfork():
    """Sizes, the time that the parent was held, the child's image."""
    spied, told, tree = same([program("vfork_one"), program("nothing")])
    compare(told, tree, spied, processes=7)
    pairs = check_forks(told, tree)
    for said, found in pairs:
        expect(found["ns"] >= 3e6, f"the parent was held for 3 ms at least: {found['ns']} ns")
    check_overhead(pairs, "vfork")
    children = {n["child"]: n for n in told.note("ended")}
    for p in tree.processes[1:]:
        is_image = children[p["pid"]]["image"] == 1
        equal((p["origin"], p["traced"], p["made_by"]), ("vfork", is_image, "vfork"), "child")
        if not is_image:
            equal((p["end"], p["status"]), ("_exit", 7), "end of a child that only ends")
    equal(tree.report["spawn_cost"]["vfork_exec"]["n"], 3, "spawn_cost.vfork_exec.n")


def test_many():
    """Hazard B8: vfork + exec, vfork + _exit, vfork + failing exec, 10 000 in all (30 000 by option);
    the return address, the parent's locals and what the child wrote survive."""
    number = 29997 if LONG else 9999
    cmd = [program("vfork"), str(number), still("nothing")]
    spied, told, tree = same(cmd)
    equal(spied.status, 0, "exit status")
    check_said(spied, least=1)
    third = number // 3
    kinds = collections.Counter((f["kind"], f["ok"]) for f in tree.forks)
    equal(kinds, {("vfork", True): number}, "forks")
    equal(len({f["child"] for f in tree.forks}), number, "children")
    execs = collections.Counter((e["kind"], e["errno"] or 0) for e in tree.execs)
    equal(execs, {("execve", 2): third, ("execve", 0): third}, "execs")
    equal(counts(tree), {("initial", True): 1, ("vfork", False): number}, "processes")
    why = collections.Counter(p["why_not"] for p in tree.processes if p["why_not"])
    expect(why["static"] == third, f"why_not: {why}")
    ends = collections.Counter((p["end"], p["status"]) for p in tree.processes[1:])
    equal((ends["_exit", 10], ends["_exit", 11]), (third, third), "ends of those without a program")
    equal(len(tree.waits), number, "waits")


def test_threads():
    """Hazard B9: eight threads vfork at once."""
    each = 300 if LONG else 60
    spied, told, tree = same([program("vfork_threads"), str(each), program("nothing")])
    equal(spied.status, 0, "exit status")
    check_said(spied, least=2)
    number = 8 * each
    equal(collections.Counter((f["kind"], f["ok"]) for f in tree.forks), {("vfork", True): number},
          "forks")
    equal(counts(tree), {("initial", True): 1, ("vfork", True): number // 3,
                         ("vfork", False): number - number // 3}, "processes")
    execs = collections.Counter(e["errno"] or 0 for e in tree.execs)
    equal(execs, {2: number // 3, 0: number // 3}, "execs")
    equal({f["child"] for f in tree.forks}, {p["pid"] for p in tree.processes[1:]}, "children")


def test_nested():
    """Hazard B9: a vfork inside a vfork child, three deep."""
    rounds = 100
    spied, told, tree = same([program("vfork_nested"), str(rounds), program("nothing")])
    equal(spied.status, 0, "exit status")
    check_forks(told, tree)
    equal(len(told.forks), 3 * rounds, "vforks said")
    parents = {f["child"]: f["pid"] for f in told.forks}
    for p in tree.processes[1:]:
        equal(p["ppid"], parents.get(p["pid"]), f"ppid of {short(p)}")
    equal(counts(tree), {("initial", True): 1, ("vfork", True): rounds // 2,
                         ("vfork", False): 3 * rounds - rounds // 2}, "processes")
    ends = collections.Counter((p["end"], p["status"]) for p in tree.processes[1:] if not p["traced"])
    equal((ends["_exit", 0], ends["_exit", 1], ends["_exit", 2]), (rounds // 2, rounds, rounds),
          "ends of those without a program")


def test_closes():
    """Hazards B8 and C17: a child that closes and takes every descriptor by system calls of its own has
    a table of its own, and shares the memory: the parent goes on, and its recording."""
    spied, told, tree = same([program("vfork_closes"), program("nothing")])
    check_forks(told, tree)
    check_waits(told, tree)
    equal(os.path.getsize("mine"), 0, "bytes in the program's file")
    equal(len(told.forks), 40, "children")
    children = {f["child"]: f["kind"] for f in told.forks}
    images = {p["pid"] for p in tree.processes if p["origin"] in ("exec", "vfork") and p["traced"]
              and p["exe"] == program("nothing")}
    equal(len(images), 20, f"images of {children}")
    expect(tree.processes[0]["events"] >= 40000, f"events {tree.processes[0]['events']}")
    failed = collections.Counter(e["pid"] for e in tree.execs if not e["ok"])
    equal(failed, {child: 1 for child in children}, "execs that failed")


def test_clone_vm():
    """Children in shared memory that come of clone, which run a program, fail to, or end."""
    spied, told, tree = same([program("clone_vm"), program("nothing")])
    check_forks(told, tree, {-1})
    check_said(spied, least=1)
    check_procs(told, tree)
    made = {n["made"]: n["way"] for n in told.note("made")}
    joined = {p["pid"] for p in tree.processes if p["traced"] and p["exe"] == program("nothing")}
    equal(joined, {pid for pid, way in made.items() if way == "exec"}, "programs that joined")


if __name__ == "__main__":
    main(globals())
