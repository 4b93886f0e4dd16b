# SPDX-License-Identifier: MIT
"""Which children join the trace, and what the trace says of those that cannot; what is recorded of
arguments and environment. Lines of the hazard list by their names."""
import stat

from spawns import *

IMAGE = program("image")


def images(spied):
    """(pid, whether the shim was in it) of each image that said so."""
    return [(int(k["image"]), k["shim"] == "1") for w, k, _ in spied.said()
            if w == "note" and "shim" in k]


def judge(spied, told, tree, pid, traced_is, why=None):
    """The last image of pid is as it was said to be."""
    last = tree.of(pid)[-1] if tree.of(pid) else None
    if not expect(last is not None, f"pid {pid} is not in the tree"):
        return
    equal(last["traced"], traced_is, f"traced: {short(last)}")
    if traced_is:
        equal(last["why_not"], None, f"why_not: {short(last)}")
    else:
        expect(why in (last["why_not"] or ""), f"why_not {last['why_not']!r}, wanted {why!r}")


def each(how, paths, env=None, **kw):
    """Runs programs by run_each; {path: pid} as the program said it."""
    spied, told, tree = same([program("run_each"), how, *paths], env=env, **kw)
    check_said(spied, least=1)
    return spied, told, tree, {n["ran"]: n.get("child") for n in told.note("ran")}


def cannot(name, path, why):
    """A child that cannot be followed, in each way to start it."""
    for how in ("fork", "vfork", "posix_spawn"):
        spied, told, tree, pids = each(how, [path, IMAGE])
        judge(spied, told, tree, pids[path], False, why)
        judge(spied, told, tree, pids[IMAGE], True)
        equal(len(tree.processes), 5 if how == "fork" else 3, f"{name} by {how}: processes")
        child = tree.of(pids[path])[-1]
        equal((child["origin"], child["ppid"]),
              ("exec" if how == "fork" else how, tree.processes[0]["pid"]), f"{name} by {how}: origin")
        os.unlink(spied.trace)
    spied, told, tree, _ = each("system", [path])
    unseen = [p for p in tree.processes if not p["traced"]]
    equal(len(unseen), 1, f"{name} by system: {[short(p) for p in tree.processes]}")
    expect(unseen and why in (unseen[0]["why_not"] or ""), f"{name} by system: {unseen}")
    os.unlink(spied.trace)
    # In its own place: nothing is left that could tell more.
    spied, told, tree = same([program("run_each"), "replace", path])
    equal([(p["origin"], p["traced"]) for p in tree.processes], [("initial", True), ("exec", False)],
          f"{name} in its own place")
    os.unlink(spied.trace)


def test_static():
    """Hazard B15: a static child."""
    cannot("static", still("image"), "static")


def test_static_between():
    """What a static child starts joins, when it passes the environment on."""
    spied, told, tree = same([program("run_each"), "fork", "./between"], cwd=make_between())
    both = images(spied)
    equal([has for _, has in both], [False, True], "shim in images")
    # Both are one process; that there was a program in between can hardly be known.
    last = tree.of(both[-1][0])[-1]
    equal((last["origin"], last["traced"], last["exe"]), ("exec", True, IMAGE), "what came of it")


def make_between():
    """A script whose interpreter is a static program, which runs the script in turn: image.c
    executes its first argument."""
    with open("between", "w") as f:
        f.write(f"#!{still('image')} {IMAGE}\n")
    os.chmod("between", 0o755)
    return "."


def test_secure():
    """Hazard B15: a set-uid child."""
    if os.getuid() != 0:
        raise Skip("needs root, to give a program away")
    shutil.copy(IMAGE, "other")
    os.chown("other", 65534, 65534)
    os.chmod("other", 0o4755)
    if os.statvfs(".").f_flag & os.ST_NOSUID:
        raise Skip("no set-uid programs here")
    cannot("set-uid", os.path.abspath("other"), "set-uid")


def test_secure_own():
    """A set-uid program of the user's own is none for the loader: it joins."""
    shutil.copy(IMAGE, "own")
    os.chmod("own", 0o4755)
    path = os.path.abspath("own")
    spied, told, tree, pids = each("fork", [path])
    equal(images(spied), [(pids[path], True)], "shim in the image")
    judge(spied, told, tree, pids[path], True)


def elf32():
    """A 32-bit ELF program that ends with 12: int 0x80, exit."""
    code = bytes.fromhex("b801000000bb0c000000cd80")
    head = struct.pack("<4sBBBBB7xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 0, 0, 2, 3, 1, 0x8048054, 52,
                       0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5,
                          0x1000)
    with open("class32", "wb") as f:
        f.write(head + segment + code)
    os.chmod("class32", 0o755)
    return os.path.abspath("class32")


def test_class32():
    """Hazard B15: a 32-bit child, by hand and static: either reason is true."""
    path = elf32()
    try:
        done = run([path])
    except OSError:
        raise Skip("no 32-bit programs here")
    equal(done.status, 12, "the program by itself")
    cannot("32-bit", path, "")
    spied, told, tree, pids = each("fork", [path])
    reason = tree.of(pids[path])[-1]["why_not"]
    expect("ELF class" in reason or "static" in reason, f"why_not {reason!r}")


def test_class32_dynamic():
    """Hazard B15: a 32-bit child with a loader, which would complain of a preload of the other class."""
    have("gcc")
    if not os.path.exists("/lib32/libc.so.6"):
        raise Skip("no 32-bit libc")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dynamic32.c")
    made = run(["gcc", "-m32", "-nostdlib", "-no-pie", "-fno-pie", "-o", "dynamic32", source,
                "-Wl,--no-as-needed", "/lib32/libc.so.6", "-Wl,--dynamic-linker=/lib32/ld-linux.so.2"])
    if made.status:
        raise Skip(f"no 32-bit compiler: {made.err.decode()[:200]}")
    path = os.path.abspath("dynamic32")
    try:
        equal(run([path]).status, 13, "the program by itself")
    except OSError:
        raise Skip("no 32-bit programs here")
    cannot("32-bit", path, "ELF class")


def test_script():
    """A script's image is its interpreter, which joins."""
    with open("script", "w") as f:
        f.write(f"#!/bin/sh\n{IMAGE}\nexit 3\n")
    os.chmod("script", 0o755)
    path = os.path.abspath("script")
    spied, told, tree, pids = each("fork", [path])
    last = tree.of(pids[path])[-1]
    equal((last["origin"], last["traced"], last["status"]), ("exec", True, 3), f"{short(last)}")
    expect(path in last["argv"], f"argv {last['argv']}")
    equal([has for _, has in images(spied)], [True], "shim in the script's child")
    os.unlink(spied.trace)
    with open("fixed", "w") as f:
        f.write(f"#!{still('nothing')}\n")
    os.chmod("fixed", 0o755)
    path = os.path.abspath("fixed")
    spied, told, tree, pids = each("fork", [path])
    judge(spied, told, tree, pids[path], False, "")


def test_missing():
    """A program that is not there is no process but the child that tried."""
    spied, told, tree, pids = each("fork", ["/nonexistent/program"])
    equal(len(tree.processes), 2, "processes")
    equal([(e["ok"], e["errno"]) for e in tree.execs], [(False, 2)], "execs")
    child = tree.processes[1]
    equal((child["origin"], child["end"], child["status"]), ("fork", "_exit", 111), "child")


def test_other_root():
    """A child in another root, without the shim there: as untraced, and listed with the reason."""
    if os.getuid() != 0:
        raise Skip("needs root, for chroot")
    os.mkdir("root")
    shutil.copy(IMAGE, "root/image")
    listed = subprocess.run(["ldd", IMAGE], stdout=subprocess.PIPE, check=True).stdout.decode()
    for path in re.findall(r"(/\S+) \(0x", listed):
        os.makedirs("root" + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, "root" + path)
    spied, told, tree = same([program("other_root"), "root"])
    if b"unable" in spied.out:
        raise Skip("no chroot here")
    check_said(spied, least=1)
    check_procs(told, tree)
    children = [n["child"] for n in told.note("ended")]
    equal([n["ended"] for n in told.note("ended")], [12, 12], "ends")
    for pid in children:
        last = tree.of(pid)[-1]
        equal(last["traced"], False, f"traced: {short(last)}")
        expect(last["why_not"], f"no reason: {short(last)}")
    print(f"other root: why_not {tree.of(children[0])[-1]['why_not']!r}")


def test_env_i():
    """Hazard B14: a program started without environment joins."""
    spied, told, tree = same(["env", "-i", IMAGE])
    equal([has for _, has in images(spied)], [True], "shim in the image")
    equal([p["origin"] for p in tree.processes], ["initial", "exec"], "processes")
    os.unlink(spied.trace)
    spied, told, tree = same(["env", "-i", "sh", "-c", f"unset LD_PRELOAD; {IMAGE}; exit 3"])
    equal([has for _, has in images(spied)], [True], "shim in the image of a shell that unset it")


def test_follow_off():
    """MEMSPY_FOLLOW=0: programs that are started run without the shim and are listed; forked children
    are recorded."""
    env = {"MEMSPY_FOLLOW": "0"}
    mark = program("libmark.so")
    for how in ("fork", "vfork", "posix_spawn", "system"):
        for libs in ((), (mark,)):
            plain = run([program("run_each"), how, IMAGE], preload=libs)
            spied = traced([program("run_each"), how, IMAGE], env=env, preload=[SHIM, *libs])
            same_lines(plain.out, spied.out, how)
            check(spied.trace)
            tree = Tree(spied.trace)
            wanted = b"shim=0 preload=" + (mark.encode() if libs else b"none") + b"\n"
            expect(wanted in spied.out, f"{how} {libs}: {spied.out!r}")
            unseen = [p for p in tree.processes if not p["traced"]]
            equal([p["why_not"] for p in unseen], ["MEMSPY_FOLLOW=0"], f"{how}: why_not")
            equal(tree.forks[0]["ok"], True, f"{how}: forks")
            os.unlink(spied.trace)
    spied = traced([program("fork_malloc"), "double"], env=env)
    check_said(spied, least=20)
    equal(len(Tree(spied.trace).processes), 11, "forked children")


def haystack(trace):
    """All that a trace holds: its bytes, every frame in it, what the commands print of it."""
    with open(trace, "rb") as f:
        raw = f.read()
    parts = [raw, tool("dump", trace)[1].encode(), tool("report", "--json", trace)[1].encode(),
             tool("report", trace)[1].encode()]
    try:
        import zstandard
    except ImportError:
        return b"\0".join(parts)
    at = raw.find(b"\x28\xb5\x2f\xfd")
    while at >= 0:
        try:
            parts.append(zstandard.ZstdDecompressor().decompressobj().decompress(raw[at:]))
        except zstandard.ZstdError:
            pass
        at = raw.find(b"\x28\xb5\x2f\xfd", at + 1)
    return b"\0".join(parts)


SCRIPT = """
import os, subprocess, sys
subprocess.run(["/bin/true", "SECRETSPAWN"], close_fds=False)
subprocess.run(["/bin/true", "SECRETFORK"])
pid = os.fork()
if pid == 0:
    os.execlp("no-such-program", "a", "SECRETFAIL") if 0 else os.execvp("true", ["a", "SECRETEXEC"])
os.waitpid(pid, 0)
sys.stdout.write(os.popen("echo SECRETPOPEN").read())
"""


def secrets(env):
    """Which of the secret arguments, of nine ways to pass one, are in the trace."""
    path = program("starts")
    inject = f"{path}' child SECRET%s; '{path}"
    found, words = set(), "SPAWN FORK EXEC POPEN SYSTEM CPOPEN SHELL OWN LAST".split()
    for number, cmd in enumerate((
            ["/usr/bin/python3", "-c", SCRIPT, "SECRETOWN"],
            [path, "system", inject % "SYSTEM"], [path, "popen", inject % "CPOPEN"],
            ["sh", "-c", "/bin/echo SECRETSHELL; exec /bin/true SECRETLAST"])):
        name = f"s{number}.mspy"
        spied = run(cmd, name, env=env)
        need(spied.trace, f"{cmd}: no trace")
        check(name)
        hay = haystack(name)
        found |= {w for w in words if b"SECRET" + w.encode() in hay}
        os.unlink(name)
    return set(words) - found, found


def test_argv():
    """Arguments are in the trace."""
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no /usr/bin/python3")
    missing, _ = secrets({})
    equal(missing, set(), "secrets that are not found where they are recorded")


def test_argv_off():
    """MEMSPY_ARGV=0: no argument of any process is anywhere in the trace."""
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no /usr/bin/python3")
    _, found = secrets({"MEMSPY_ARGV": "0"})
    equal(found, set(), "secret arguments in the trace")


def test_environment():
    """No value of the environment is in the trace, of a program or of what it starts."""
    env = {"HIDDEN": "SECRETVALUE", "OWN": "SECRETOTHER"}
    for how in ("fork", "vfork", "posix_spawn", "system"):
        spied, told, tree, _ = each(how, [IMAGE, still("image")], env=env)
        hay = haystack(spied.trace)
        expect(b"SECRET" not in hay, f"{how}: a value of the environment is in the trace")
        expect(IMAGE.encode() in hay, f"{how}: the search finds nothing")
        os.unlink(spied.trace)
    path = program("exec_kinds")
    spied, told, tree = same([path, path], env=env)
    expect(b"SECRET" not in haystack(spied.trace), "exec: a value of the environment is in the trace")


def by_hand(what, cmd, preload, cwd=".", env=None, joins=None):
    """A run with LD_PRELOAD as given: the same output as without; children as `joins` says. Returns
    the tree."""
    full = dict(env or {}, MEMSPY_OUT=os.path.abspath("t.mspy"), LD_PRELOAD=preload)
    plain = run(cmd, cwd=cwd)
    spied = run(cmd, env=full, cwd=cwd)
    equal(spied.status, plain.status, f"{what}: exit status")
    same_lines(plain.out, spied.out, f"{what}: stdout")
    # One line may say that children cannot be followed.
    rest = re.sub(rb"^memspy: LD_PRELOAD cannot name .*\n", b"", spied.err, count=1)
    equal(rest, plain.err, f"{what}: stderr")
    need(os.path.exists("t.mspy"), f"{what}: no trace")
    check("t.mspy")
    tree = Tree("t.mspy")
    seen = images(spied)
    expect(seen, f"{what}: no image: {spied.out!r}")
    for pid, has in dict(seen).items():
        last = tree.of(pid)[-1] if tree.of(pid) else None
        if expect(last is not None, f"{what}: {pid} is not in the tree"):
            equal(last["traced"], has, f"{what}: traced {short(last)}")
            expect(has or last["why_not"], f"{what}: no reason: {short(last)}")
        if joins is not None:
            equal(has, joins, f"{what}: shim in the image")
    os.unlink("t.mspy")
    return tree


def test_relative():
    """Hazard B16: LD_PRELOAD as a relative path, and a program that leaves the directory."""
    shutil.copy(SHIM, "libmemspy.so")
    shell = ["sh", "-c", f"cd /; {IMAGE}; {IMAGE} {IMAGE}; exit 3"]
    by_hand("relative, then cd", shell, "./libmemspy.so", joins=True)
    by_hand("relative", [program("run_each"), "posix_spawn", IMAGE], "./libmemspy.so", joins=True)
    by_hand("by name alone", shell, "libmemspy.so", env={"LD_LIBRARY_PATH": os.getcwd()}, joins=True)


def test_blank():
    """Hazard B16: a path with a blank, which LD_PRELOAD cannot hold: the program and its children run
    as before, and are followed or listed."""
    os.mkdir("a b")
    shutil.copy(SHIM, "a b/libmemspy.so")
    children = [program("run_each"), "fork", IMAGE, IMAGE]
    by_hand("blank, relative", children, "./libmemspy.so", cwd="a b")
    by_hand("blank, in the library path", children, "libmemspy.so",
            env={"LD_LIBRARY_PATH": os.path.abspath("a b")})
    shell = ["sh", "-c", f"cd /; {IMAGE}; exit 3"]
    by_hand("blank, relative, then cd", shell, "./libmemspy.so", cwd="a b")


def test_colon():
    """Hazard B16: the same with a colon."""
    os.mkdir("a:b")
    shutil.copy(SHIM, "a:b/libmemspy.so")
    by_hand("colon, relative", [program("run_each"), "posix_spawn", IMAGE, IMAGE], "./libmemspy.so",
            cwd="a:b")
    by_hand("colon, relative, then cd", ["sh", "-c", f"cd /; {IMAGE}; exit 3"], "./libmemspy.so",
            cwd="a:b")


def test_not_there():
    """Hazard B16: where LD_PRELOAD itself is cut by a blank, the program runs, as the loader says."""
    os.mkdir("a b")
    shutil.copy(SHIM, "a b/libmemspy.so")
    plain = run([IMAGE])
    spied = run([IMAGE], env={"LD_PRELOAD": os.path.abspath("a b/libmemspy.so"), "MEMSPY_OUT": "t.mspy"})
    equal(spied.status, plain.status, "exit status")
    expect(b"cannot be preloaded" in spied.err and b"memspy:" not in spied.err, f"{spied.err!r}")
    equal(os.path.exists("t.mspy"), False, "a trace")


if __name__ == "__main__":
    main(globals())
