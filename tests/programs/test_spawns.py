# SPDX-License-Identifier: MIT
"""Each way to make a process and to become another program: every call is in the report once, with
the figures that the program measured itself, and every image is in the tree. The names "hazard B8"
and the like are lines of the project's list of what programs do to a preloaded profiler."""
import errno as errors
import stat

from spawns import *


def forked(how):
    """fork and its kin, six times, with sizes, times and the child's start."""
    spied, told, tree = same([program("forks"), how])
    compare(told, tree, spied, processes=7)
    pairs = check_forks(told, tree)
    equal(len(pairs), 6, "pairs")
    check_overhead(pairs, how)
    born = [n["born"] for n in told.note("born")]
    equal(len(born), 6, "children born")
    for (said, found), at in zip(pairs, born):
        latency = found.get("latency_ns")
        expect(latency is not None and 0 < latency <= (at - said["begin"]) * (1 + DRIFT) + CLOCK_NS,
               f"latency_ns {latency}, the child's own {at - said['begin']}")
        expect(found.get("caller"), f"no caller: {short(found)}")
    rss = [f["rss_kb"] for _, f in pairs]
    expect(all(3500 < b - a < 5000 for a, b in zip(rss, rss[1:])), f"rss_kb {rss}, 4 MiB apart")
    return tree


def test_fork():
    """Hazard A1: workers that never exec, each tied to its parent."""
    tree = forked("fork")
    model = tree.report["fork_model"]
    equal(model["n"], 6, "fork_model.n")
    equal({p["made_by"] for p in tree.processes}, {"fork", None}, "made_by")


def test__fork():
    """Hazard A5: _Fork runs no handlers."""
    forked("_Fork")


def test_clone():
    forked("clone")


def test_forkpty():
    """Hazard B11."""
    forked("forkpty")


def test_harness():
    """The comparison itself notices what is missing, doubled, added and changed."""
    spied, told, tree = same([program("forks"), "fork"])
    changes = {
        "fork lost": lambda t: t.forks.pop(2),
        "fork doubled": lambda t: t.forks.append(dict(t.forks[2])),
        "other child": lambda t: t.forks[1].update(child=1),
        "other kind": lambda t: t.forks[1].update(kind="vfork"),
        "failed": lambda t: t.forks[1].update(ok=False, errno=11),
        "too long": lambda t: t.forks[1].update(ns=t.forks[1]["ns"] * 40),
        "elsewhere": lambda t: t.forks[1].update(at=t.forks[1]["at"] + 10**7),
        "rss": lambda t: t.forks[3].update(rss_kb=t.forks[3]["rss_kb"] + 1000),
        "pte": lambda t: t.forks[3].update(pte_kb=None),
        "threads": lambda t: t.forks[3].update(threads=2),
        "exec added": lambda t: t.execs.append({"pid": t.processes[0]["pid"], "kind": "execv"}),
        "wait lost": lambda t: t.waits.pop(),
        "wait status": lambda t: t.waits[0].update(status=0),
        "process lost": lambda t: t.processes.pop(),
        "process added": lambda t: t.processes.append(dict(t.processes[1])),
        "end": lambda t: t.processes[1].update(end="exit"),
        "origin": lambda t: t.processes[1].update(origin="clone"),
        "parent": lambda t: t.processes[1].update(ppid=1),
    }
    # So that the program's own execs are looked for.
    told.execs.append({"pid": tree.processes[0]["pid"], "kind": "none", "line": "", "errno": 0})
    unchanged = complaints(told, tree, lambda t: None)
    equal(unchanged, 1, "complaints about an exec that was not made")
    for name, change in changes.items():
        expect(complaints(told, tree, change) > unchanged, f"not noticed: {name}")


def complaints(told, tree, change):
    """How many there are about a changed copy of a tree."""
    import copy
    import harness
    changed, kept = copy.deepcopy(tree), list(harness._wrong)
    change(changed)
    compare(told, changed, None, processes=7, events=False)
    found = len(harness._wrong) - len(kept)
    harness._wrong[:] = kept
    return found


def test_fork_raw():
    """What a fork took, in the trace, is what the kernel's call takes in the same process, unseen by
    any hook, within 5 % or 5 us: the program's own clock tells."""
    for mib in ("0", "64"):
        for _ in range(6):  # machines are noisy
            spied = traced([program("fork_raw"), mib], preload=[SHIM])
            check(spied.trace)
            told, tree = Told(spied), Tree(spied.trace)
            pairs = check_forks(told, tree)
            equal(len(pairs), 100, "forks")
            raw = sorted(n["raw"] for n in told.note("raw"))[50]
            ns = sorted(f["ns"] for _, f in pairs)[50]
            own = sorted(s["end"] - s["begin"] for s, _ in pairs)[50]
            print(f"{mib} MiB: clone {raw / 1e3:.1f} us, fork in the trace {ns / 1e3:.1f}, around the "
                  f"hook {own / 1e3:.1f}")
            os.unlink(spied.trace)
            if abs(ns - raw) <= max(0.05 * raw, 5000):
                break
        else:
            expect(False, f"{mib} MiB: clone {raw} ns, fork in the trace {ns} ns")


def test_raw_clone():
    """Hazard A5: a child of syscall(SYS_clone), which no function of libc knows of."""
    spied = traced([program("fork_malloc"), "clone"])
    check(spied.trace)
    tree = Tree(spied.trace)
    pids = {int(k["pid"]) for w, k, _ in spied.said() if w == "process"}
    equal({p["pid"] for p in tree.processes}, pids, "pids of the tree")
    equal(len(tree.processes), 6, "processes")
    equal(tree.forks, [], "forks")
    for p in tree.processes[1:]:
        expect(p["traced"] and p["made_by"] is None, f"a child of no function: {short(p)}")


def test_clone_flags():
    """clone's other arguments arrive; children in shared memory are left alone."""
    spied, told, tree = same([program("clone_flags")])
    compare(told, tree, spied)
    clones = [p for p in tree.processes if p["origin"] == "clone" and p["traced"]]
    equal(len(clones), 4, "children by clone")


def test_daemon():
    """Hazard B11: the parent's end is within daemon."""
    spied, told, tree = same([program("daemon")])
    compare(told, tree, spied, processes=2)


def spawned(how, images):
    """Three calls of a function that starts a program itself."""
    if b"absent" in run([program("starts"), how, program("starts")]).out:
        raise Skip(f"libc has no {how}")
    spied, told, tree = same([program("starts"), how, program("starts")])
    compare(told, tree, spied)
    equal(sum(p["made_by"] == how and p["origin"] == "posix_spawn" for p in tree.processes), 3,
          f"images made by {how}")
    started = [p for p in tree.processes if p["origin"] != "initial" and p["origin"] != "fork"
               and os.path.basename(p["exe"] or "") == "starts"]
    equal(len(started), images, f"images of the program by {how}")
    expect(all(p["end"] == "exit" and p["status"] == 3 for p in started), "ends of the program")
    pid = tree.processes[0]["pid"]
    equal([e for e in tree.execs if e["pid"] == pid], [], "execs of the program that calls")
    return told, tree


def test_posix_spawn():
    told, tree = spawned("posix_spawn", 3)
    check_overhead(check_forks(told, tree), "posix_spawn")
    equal(tree.report["spawn_cost"]["posix_spawn"]["n"], 3, "spawn_cost.posix_spawn.n")


def test_posix_spawnp():
    spawned("posix_spawnp", 3)


def test_pidfd_spawn():
    spawned("pidfd_spawn", 3)


def test_pidfd_spawnp():
    spawned("pidfd_spawnp", 3)


def test_system():
    """Hazard B11: once, though libc makes a child inside of it and waits for it."""
    told, tree = spawned("system", 3)
    equal([w for w in tree.waits if w["pid"] == tree.processes[0]["pid"]], [], "waits")


def test_popen():
    """Hazard B11: popen and pclose."""
    told, tree = spawned("popen", 3)
    equal(sum(w["kind"] == "pclose" for w in tree.waits), 3, "pclose")


def test_wordexp():
    """Hazard B11."""
    spied, told, tree = same([program("starts"), "wordexp", program("starts")])
    compare(told, tree, spied)
    equal(sum(p["made_by"] == "wordexp" for p in tree.processes), 3, "shells of wordexp")


def test_waits():
    """Each kind of wait, of recorded children and of one that is not; none that reaped nothing."""
    spied, told, tree = same([program("waits"), still("image")])
    pairs = check_waits(told, tree)
    equal(len(pairs), 8, "children reaped")
    compare(told, tree, spied)
    for said, found in pairs:
        if "begin" not in said:
            continue
        for key, name in (("utime", "utime_us"), ("stime", "stime_us"), ("maxrss", "maxrss_kb")):
            if said["maxrss"] >= 0:  # the program has the child's rusage
                equal(found.get(name), said[key], f"{name} of `{said['line']}`")
            else:
                expect(found.get(name) is not None, f"no {name} of `{said['line']}`")
        if said["child"] != told.waits[5]["child"] and found.get("utime_us") is not None:
            expect(15000 < found["utime_us"] + found["stime_us"] < 60000, f"cpu time: {short(found)}")
            expect(found["maxrss_kb"] > 8192, f"maxrss_kb: {short(found)}")


def test_wait_left():
    """Waits that are cancelled or jumped out of are no events, and disturb nothing that follows."""
    spied, told, tree = same([program("wait_left")], verdict=("complete", "truncated"))
    check_waits(told, tree)
    check_said(spied, least=2)
    equal(tree.processes[1]["status"], 9, "status of the child that was killed")


def test_exec_kinds():
    """Hazard B12: all of the family, once in vain and once with success, by path and by descriptor."""
    spied, told, tree = same([program("exec_kinds"), program("exec_kinds")])
    compare(told, tree, spied, processes=1 + 2 * 11)
    pairs = check_execs(told, tree)
    mains = {n["pid"]: n["main"] for n in told.note("main")}
    for said, found in pairs:
        if said["errno"]:
            continue
        init, main, own = found["ns_to_init"], found["ns_to_main"], mains[said["pid"]] - said["at"]
        expect(init and main and 0 < init < main <= own * (1 + DRIFT) + CLOCK_NS,
               f"ns_to_init {init}, ns_to_main {main}, own {own} for `{said['line']}`")
    rest = sorted(mains[s["pid"]] - s["at"] - f["ns_to_main"] for s, f in pairs
                  if not s["errno"] and f["ns_to_main"])
    print(f"exec to main: own less the report's, median {rest[len(rest) // 2] / 1e3:.0f} us")
    expect(rest[len(rest) // 2] < 1e6, f"exec to main is too short: {rest}")
    equal(tree.report["spawn_cost"]["fork_exec"]["n"], 11, "spawn_cost.fork_exec.n")
    argv = {tuple(p["argv"][1:]) for p in tree.processes if p["origin"] == "exec"}
    expect(("image", "execl", "last word") in argv, f"argv of images: {argv}")


def make_search():
    """The directories that exec_search.c names."""
    def put(path, text, mode=0o755):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text)
        os.chmod(path, mode)

    for i in range(1, 6):
        os.mkdir(f"empty{i}")
    with open(program("exec_search"), "rb") as f:
        own = f.read()
    put("good/tool", own)
    put("./here", own)
    put("noaccess/tool", own, 0o644)
    put("script/tool", b"echo note script $0 $1\nexit 4\n")
    put("interpreted/tool", b"#!/bin/sh -e\necho note interpreted $0 $1\nexit 5\n")
    put("badinterpreter/tool", b"#!/nonexistent/shell\n")
    put("damaged/tool", b"\x7fELF" + bytes(60))
    os.makedirs("isdir/tool")
    put("./afile", b"")
    os.mkdir("loop")
    os.symlink("tool", "loop/tool")


def attempts_of_strace(seen, program_path):
    """What strace saw after the program's own start."""
    first = next(i for i, e in enumerate(seen.execs) if e[1] == program_path)
    return [(path, getattr(errors, name) if name else 0) for _, path, name in seen.execs[first + 1:]]


def test_exec_search():
    """Hazard B12, the search of PATH: results as libc's, and each directory tried, as strace saw them
    in a run without the shim."""
    make_search()
    path = program("exec_search")
    done, seen = strace([path], env={"LC_ALL": "C"})
    wanted = attempts_of_strace(seen, path)
    need(len(wanted) > 40, f"strace saw {len(wanted)} attempts")
    spied, told, tree = same([path])
    same_lines(done.out, spied.out, "stdout under strace")
    found = [(e["path"], e["errno"] or 0) for e in sorted(tree.execs, key=lambda e: e["at_ns"])]
    for number, (a, b) in enumerate(zip(wanted, found)):
        if not expect(a == b, f"attempt {number}: strace {a}, report {b}"):
            break
    equal(len(found), len(wanted), "attempts")
    hits = [e for e in tree.execs if e["ok"]]
    equal(len(hits), sum(not e for _, e in wanted), "attempts that worked")
    check_waits(told, tree)


def limits(how, processes=2):
    make_text()
    spied, told, tree = same([program("exec_limits"), program("exec_limits"), how])
    compare(told, tree, spied, processes=processes)
    equal(spied.status, 6, "exit status")
    return tree


def make_text():
    """A text that may be executed, and data that may not."""
    with open("text", "w") as f:
        f.write("exit 3\n")
    os.chmod("text", 0o755)
    with open("data", "w") as f:
        f.write("data")


def test_exec_arguments():
    """Hazard B13: 100 000 arguments."""
    tree = limits("args")
    expect(len(tree.processes[1]["argv"]) < 5000, "all arguments are in the trace")


def test_exec_environment():
    """Hazard B13: 1 MiB of environment."""
    limits("environ")


def test_exec_thread():
    """Hazard B13: from a thread with a small stack, with all of that."""
    limits("thread")


def test_exec_failures():
    """E2BIG, ENOEXEC, EACCES, ENOENT, ENOTDIR."""
    tree = limits("toomany")
    found = collections.Counter(e["errno"] or 0 for e in tree.execs)
    wanted = {errors.E2BIG: 1, errors.ENOEXEC: 1, errors.EACCES: 2, errors.ENOENT: 2,
              errors.ENOTDIR: 1, 0: 1}
    equal(found, wanted, "errno of attempts")


def test_exec_faults():
    """Pointers that lead nowhere: EFAULT, as the kernel answers."""
    path = program("exec_limits")
    plain = run([path, path, "faults"])
    spied = run([path, path, "faults"], "t.mspy")
    equal(spied.status, plain.status, "exit status")
    expect(b"need" not in spied.out, f"said {spied.out!r}")


def refused(how):
    spied, told, tree = same([program("refused"), how])
    if b"unable" in spied.out:
        raise Skip("needs root")
    compare(told, tree, spied)
    # system() answers as if its shell had ended with 127: the tree may have that one, but not as seen.
    equal([(p["origin"], p["traced"]) for p in tree.processes if p["made_by"] != "system"],
          [("initial", True)], "processes")
    expect(not [p for p in tree.processes[1:] if p["traced"]], f"processes: {tree.processes[1:]}")
    kinds = {f["kind"] for f in tree.forks}
    expect(len(kinds) >= 9, f"kinds: {kinds}")
    tried = [f for f in told.forks if f["errno"] == errors.EAGAIN]
    expect(len(tried) >= 7, f"refused with EAGAIN: {told.forks}")


def test_refused_filter():
    """Every function fails as it does untraced when no process can be made: EAGAIN of a filter."""
    refused("filter")


def test_refused_limit():
    """The same by RLIMIT_NPROC, as another user."""
    refused("limit")


def test_spawn_odd():
    """Hazard B10: NULL and empty environment, closed descriptors, attributes, what cannot be run."""
    make_text()
    spied, told, tree = same([program("spawn_odd"), program("spawn_odd")])
    compare(told, tree, spied)
    images = [p for p in tree.processes if p["origin"] == "posix_spawn"]
    equal(len(images), 13, "images")
    expect(all(p["traced"] and p["end"] == "exit" and p["status"] == 4 for p in images),
           f"images: {[short(p) for p in images if not p['traced']]}")


def test_atfork():
    """Hazard A4: handlers that allocate; what they take is part of what fork takes."""
    spied, told, tree = same([program("fork_atfork")])
    compare(told, tree, spied, processes=21)
    for f in tree.forks:
        if f["kind"] == "fork":
            expect(f["ns"] > 3e6, f"fork with handlers: {f['ns']} ns")
    quick = sorted(f["ns"] for f in tree.forks if f["kind"] == "_Fork")
    expect(quick and quick[len(quick) // 2] < 3e6, f"_Fork runs no handlers: {quick}")


def test_fork_dlopen():
    """Hazard A6: fork while a thread is inside dlopen."""
    spied, told, tree = same([program("fork_dlopen"), program("libno_usable.so"), "50"])
    compare(told, tree, spied, processes=51)
    equal(len(tree.forks), 50, "forks")


def test_fork_busy_16():
    """Hazard A2: 16 threads allocate while another forks 100 times (1000 by option); the children
    allocate at once."""
    forks = 1000 if LONG else 100
    spied = traced([program("fork_busy"), "16", str(forks)], timeout=900 if LONG else 170)
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    told, tree = Told(spied), Tree(spied.trace)
    equal(len(tree.processes), forks + 1, "processes")
    # There are millions of events: the report's numbers have to do. A child makes 200 pairs.
    equal(collections.Counter(p["events"] for p in tree.processes[1:]), {400: forks}, "their events")
    equal({p["unmatched_frees"] for p in tree.processes}, {0}, "frees of blocks that nobody has")
    made = next(int(k["n"]) for w, k, _ in spied.said() if w == "count" and k["n"] != "200")
    events = tree.processes[0]["events"] - 2 * made
    expect(0 <= events < 300, f"events of the parent besides {made} pairs: {events}")
    equal(collections.Counter((f["kind"], f["ok"]) for f in tree.forks), {("fork", True): forks},
          "forks")
    equal({f["child"] for f in tree.forks}, {p["pid"] for p in tree.processes[1:]}, "children")
    equal({f["threads"] for f in tree.forks}, {17}, "threads at each fork")


def test_gap():
    """Between fork and exec: how long, and what was done to descriptors."""
    spied, told, tree = same([program("gap"), program("nothing")])
    gaps = {n["child"]: n for n in told.note("least")}
    equal(len(gaps), 3, "children")
    for pid, said in gaps.items():
        first = min((e for e in tree.execs if e["pid"] == pid), key=lambda e: e["at_ns"])
        gap = first.get("gap_ns")
        expect(gap is not None and said["least"] <= gap <= said["most"] * (1 + DRIFT) + CLOCK_NS,
               f"gap_ns {gap}, the child's own at most {said['most']}")
        equal([first.get(k) for k in ("gap_dups", "gap_closes", "gap_opens")], [3, 4, 2],
              "dups, closes, opens in the gap")


def test_sigchld():
    """Children reaped by a handler that interrupts allocations, forks and spawns; also in exact mode,
    where the interrupted allocation's system calls are the recorder's."""
    for mode in ({}, {"MEMSPY_KERNEL": "exact"}):
        spied, told, tree = same([program("sigchld"), program("nothing")], env=mode)
        compare(told, tree, spied, processes=301)
        os.unlink(spied.trace)


def test_threads():
    """Eight threads make children at once, by fork, posix_spawn, system and popen."""
    spied, told, tree = same([program("spawn_threads"), program("nothing")])
    compare(told, tree, spied)
    by = collections.Counter(p["made_by"] for p in tree.processes if p["origin"] != "exec")
    equal(by, {None: 1, "fork": 48, "posix_spawn": 24, "system": 12, "popen": 12}, "made_by")
    equal(sum(p["exe"] == program("nothing") for p in tree.processes), 48, "images")


def test_exec_busy():
    """exec while other threads allocate: what they recorded is there, what comes after is too."""
    spied, told, tree = same([program("exec_busy"), program("nothing")])
    compare(told, tree, spied, processes=2)
    expect(tree.processes[0]["events"] > 10000, f"events: {tree.processes[0]['events']}")
    equal(tree.processes[0]["threads"], 5, "threads")
    equal(os.listdir("."), ["t.mspy"], "files made")


def test_no_room():
    """RLIMIT_FSIZE: where the trace may not grow, the program makes its children all the same."""
    import resource
    cmd = [program("spawn_many"), "60", program("nothing")]
    plain = run(cmd)
    for size in (4096, 20000, 140000, 200000, 300000):
        spied = run(cmd, "t.mspy", preexec_fn=lambda n=size: resource.setrlimit(
            resource.RLIMIT_FSIZE, (n, n)))
        equal(spied.status, plain.status, f"{size}: exit status")
        same_lines(plain.out, spied.out, f"{size}: stdout")
        if spied.trace and tool("check", "t.mspy")[0] != 3:
            check("t.mspy", ("complete", "truncated"), lost=None)
            equal(tool("report", "t.mspy")[0], 0, f"{size}: report")
        for name in os.listdir("."):
            os.unlink(name)


def test_many():
    """2000 spawns of /bin/true: every process is there, at 4 KiB each at most."""
    number = 2000
    spied = traced([program("spawn_many"), str(number), "/bin/true"])
    equal(spied.status, 0, "exit status")
    check(spied.trace)
    told, tree = Told(spied), Tree(spied.trace)
    started = told.note("started")
    equal(len(started), number, "children that the program had")
    wanted = collections.Counter()
    for n in started:
        if n["way"] == "fork":
            wanted[n["started"], "fork", "exec"] += 1
            wanted[n["started"], "exec", "exit"] += 1
        else:
            wanted[n["started"], n["way"], "exit"] += 1
    found = collections.Counter((p["pid"], p["origin"], p["end"]) for p in tree.processes[1:])
    expect(found == wanted, f"missing {list((wanted - found).items())[:5]}, "
                            f"more {list((found - wanted).items())[:5]}")
    equal(collections.Counter((f["kind"], f["ok"]) for f in tree.forks),
          collections.Counter((n["way"], True) for n in started), "forks")
    cost = tree.report["spawn_cost"]
    equal([cost[k]["n"] for k in ("fork_exec", "vfork_exec", "posix_spawn")], [667, 667, 666],
          "spawn_cost")
    expect(all(0 < cost[k]["p50_ns"] <= cost[k]["p99_ns"] for k in cost), f"spawn_cost {cost}")
    out = tool("tree", "t.mspy")[1]
    drawn = [out.count(f"{n} x /bin/true") for n in (667, 666)]
    expect(drawn == [2, 1] and out.count("\n") < 60, f"memspy tree does not draw like ones as one: "
                                                     f"{out[:2000]}")
    status = os.stat(spied.trace)
    each = [n / number for n in (status.st_size, status.st_blocks * 512)]
    print(f"bytes per short process: {each[0]:.0f}, on disk {each[1]:.0f}")
    expect(max(each) <= 4096, f"bytes of the trace per process (size, disk): {each}")


def test_workers():
    """Hazard A7: 200 workers of a parent of 500 MiB: what the shim adds to each."""
    cmd = [program("workers"), "500", "200"]
    spied, told, tree = same(cmd)
    compare(told, tree, spied, processes=201)
    added = {}
    plain = Told(spied.plain)
    for key in ("private", "pte"):
        a, b = (sorted(n[key] for n in t.note("private")) for t in (plain, told))
        equal((len(a), len(b)), (200, 200), "workers")
        added[key] = b[100] - a[100]
        print(f"workers: {key} untraced {a[100]} KiB, traced {b[100]} KiB")
    size = os.stat(spied.trace)
    each = [size.st_size / 200 / 1024, size.st_blocks * 512 / 200 / 1024]
    print(f"workers: file {each[0]:.1f} KiB a worker, on disk {each[1]:.1f}")
    expect(added["private"] <= 256, f"private memory added per worker: {added['private']} KiB")
    expect(added["pte"] <= 32, f"page tables added per worker: {added['pte']} KiB")
    expect(max(each) <= 192, f"the trace has per worker (size, disk): {each} KiB")
    equal({f["child"] for f in tree.forks}, {p["pid"] for p in tree.processes[1:]}, "children")


if __name__ == "__main__":
    main(globals())
