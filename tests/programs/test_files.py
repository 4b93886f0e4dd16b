# SPDX-License-Identifier: MIT
"""Descriptors and the trace file: whose they are, and what happens when there are none."""
import resource
import stat

from harness import *

FILES = 20


def descriptors(how):
    spied = traced([program("descriptors"), how])
    equal(spied.status, 0, f"{how}: exit status")
    for i in range(FILES):
        with open(f"file{i}", "rb") as f:
            expect(f.read() == b"whole\n", f"{how}: file{i} is not as written")
    check(spied.trace)
    check_said(spied, least=2)
    for name in os.listdir("."):
        if name not in ("covered",):
            os.unlink(name)


def test_close_all():
    descriptors("loop")
    descriptors("close_range")
    descriptors("closefrom")
    descriptors("proc")


def test_dup2_over():
    descriptors("dup2")
    need(os.path.exists("covered"), "the program found no descriptor of the shim's to cover")
    with open("covered", "rb") as f:
        expect(set(f.read().split()) == {b"mine"}, "the covering file has other bytes")


def test_no_leak():
    """A child without the shim has the descriptors that it has without memspy."""
    cmd = [program("run_child"), program("list_fds")]
    if not os.path.exists(cmd[1]):
        raise Skip("no static libc here")
    plain, spied = same_run(cmd)
    equal(len(plain.out.split()), 6, "descriptors listed")
    trace = Trace(spied.trace)
    equal(len(trace.own(kind="malloc")), 100, "own mallocs")


def limited(number, value):
    return lambda: resource.setrlimit(number, (value, value))


def test_exhausted():
    cmd = [program("exhausted")]
    spied = traced(cmd, preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    equal(spied.status, 0, "exit status")
    check(spied.trace, lost=None)
    check_said(spied)


def test_exhausted_before():
    """No descriptor to be had at start: the program runs, the failure is one line."""
    cmd = [program("busy"), "1000"]
    plain = run(cmd)
    for limit in range(3, 6):
        spied = run(cmd, "t.mspy", preexec_fn=limited(resource.RLIMIT_NOFILE, limit))
        if spied.status == 127 and b"cannot open shared object" in spied.err:
            continue  # the loader itself had none: an untraced run fails too
        equal((spied.status, spied.out), (plain.status, plain.out), f"limit {limit}")
        expect(spied.err.count(b"\n") <= 1, f"limit {limit}: stderr {spied.err!r}")
        if os.path.exists("t.mspy"):
            os.unlink("t.mspy")


def unaffected(what, n="200000", line=True, env=None, trace="t.mspy", **kw):
    """The program's results are as ever; stderr has one line of memspy's if `line`."""
    cmd = [program("busy"), n]
    plain = run(cmd, env=env)
    spied = run(cmd, trace, env=env, **kw)
    equal((spied.status, spied.out), (plain.status, plain.out), f"{what}: status, stdout")
    if line is not None:
        equal(spied.err.count(b"\n"), int(line), f"{what}: lines on stderr: {spied.err!r}")
        expect(not line or spied.err.startswith(b"memspy"), f"{what}: stderr {spied.err!r}")
    return spied


def test_file_size_limit():
    for limit in (0, 4096, 100000, 1 << 20):
        spied = unaffected(f"limit {limit}", preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
        if os.path.exists("t.mspy"):
            if os.path.getsize("t.mspy") >= 100000:
                equal(tool("report", "t.mspy")[0], 0, f"limit {limit}: report's status")
                found = sum(r["record"] == "event" for r in dump("t.mspy"))
                expect(found > 500, f"limit {limit}: {found} events")
            os.unlink("t.mspy")


def test_full_disk():
    if os.geteuid():
        raise Skip("mounting needs root")
    os.mkdir("small")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "small"],
                          stderr=subprocess.DEVNULL)
    if done.returncode:
        raise Skip("cannot mount")
    try:
        unaffected("small disk", n="1000000", trace="small/t.mspy")
        found = check("small/t.mspy", ("truncated", "complete"), lost=None)
        expect(found["lost_events"] > 100000, f"lost events are not counted: {found}")
        events = sum(r["record"] == "event" for r in dump("small/t.mspy"))
        expect(events > 5000, f"{events} events on a disk of 1 MiB")
        # Not even room for a header now.
        unaffected("full disk", trace="small/t2.mspy")
    finally:
        subprocess.run(["umount", "-l", "small"], check=False)


def test_read_only():
    """Root writes everywhere: a directory that is a file, and one that is not there, serve too."""
    with open("file", "w") as f:
        f.write("x")
    for path in ("file/t.mspy", "missing/t.mspy", "/proc/t.mspy", "/dev/full"):
        unaffected(path, n="1000", trace=path)
    with open("file") as f:
        equal(f.read(), "x", "a file in the place of a directory")


def test_exists():
    for name, text in (("t.mspy", "mine"), ("t.mspy.1", "mine too")):
        with open(name, "w") as f:
            f.write(text)
    spied = unaffected("file exists")
    for name, text in (("t.mspy", "mine"), ("t.mspy.1", "mine too")):
        with open(name) as f:
            equal(f.read(), text, f"{name}")
    need(os.path.exists("t.mspy.2"), f"no t.mspy.2: {os.listdir('.')}")
    expect(b"t.mspy.2" in spied.err, f"stderr does not name it: {spied.err!r}")
    check("t.mspy.2")
    check_said(spied, Trace("t.mspy.2"))


def test_link():
    """A link in the place of the trace is not followed, dangling or not."""
    with open("victim", "w") as f:
        f.write("mine")
    os.symlink("victim", "t.mspy")
    unaffected("link", n="1000", line=None)
    with open("victim") as f:
        equal(f.read(), "mine", "the link's target")
    os.symlink("made", "u.mspy")
    unaffected("dangling link", n="1000", line=None, trace="u.mspy")
    expect(not os.path.exists("made"), "a dangling link was followed")


def test_mode():
    old = os.umask(0)
    try:
        spied = traced([program("busy")])
    finally:
        os.umask(old)
    equal(oct(stat.S_IMODE(os.stat(spied.trace).st_mode)), "0o600", "mode of the trace")
    check(spied.trace)


def test_default_name():
    """Without MEMSPY_OUT: memspy.PROGRAM.PID.mspy here; placeholders are filled."""
    child = start([program("busy")], env={"LD_PRELOAD": SHIM})
    child.communicate()
    equal(os.listdir("."), [f"memspy.busy.{child.pid}.mspy"], "files made")
    os.mkdir("b")
    child = start([program("busy")], env={"LD_PRELOAD": SHIM, "MEMSPY_OUT": "b/x-%e-%p-%%.t"})
    child.communicate()
    equal(os.listdir("b"), [f"x-busy-{child.pid}-%.t"], "files made")


if __name__ == "__main__":
    main(globals())
