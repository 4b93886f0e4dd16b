# SPDX-License-Identifier: MIT
"""What every driver of tests/programs, tests/real and tests/cli shares.

A driver is a file of functions test_NAME(); ctest runs `driver.py NAME`. From the environment:
MEMSPY_BUILD, the build directory (libmemspy.so, memspy), and MEMSPY_PROGRAMS, where the compiled
programs of the folder are. MEMSPY_LONG=1 (or MEMSPY_TEST_LONG=1) asks for the long versions. A test
works in a directory of its own, which is kept when it fails.

A test program says on stdout what it did (say.h); check_said() compares that with the trace:

    event kind=malloc ptr=0x… size=…   the next event of this thread made by the program's own code
    count pid=… kind=… n=… bytes=…     so many events of a kind by the program's own code
    process pid=… ppid=… origin=…      the trace has this process
    need failed …                      the program itself saw something wrong
    fork, exec, wait, proc …           processes and calls that make them: spawns.py

Own code is what lies in the program's own text: the programs are linked at a fixed address.
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ.get("MEMSPY_BUILD", "build")
PROGRAMS = os.environ.get("MEMSPY_PROGRAMS", BUILD)
LONG = "1" in (os.environ.get("MEMSPY_LONG"), os.environ.get("MEMSPY_TEST_LONG"))
SHIM = os.path.join(BUILD, "libmemspy.so")
MEMSPY = os.path.join(BUILD, "memspy")
SKIP = 77

ALLOCS = ("malloc calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc "
          "pvalloc").split()
FREES = "free free_sized free_aligned_sized".split()
WORDS = "event count process need note fork exec wait proc".split()

_wrong = []


class Skip(Exception):
    """The machine lacks what the test needs."""


class Stop(Exception):
    """Nothing after this can be judged."""


def expect(ok, text):
    """Notes a failure and goes on, so that one run shows all of them."""
    if not ok:
        _wrong.append(text)
    return ok


def equal(found, wanted, what):
    return expect(found == wanted, f"{what}: found {found!r}, wanted {wanted!r}")


def need(ok, text):
    if not ok:
        raise Stop(text)


def clean_env(extra=None):
    """The test's environment without anything that could change the program or the shim."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("MEMSPY_", "LD_", "MALLOC_", "GLIBC_"))}
    env["LC_ALL"] = "C"
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


class Result:
    """One finished run: status (negative: signal), out, err, and its trace (or None)."""

    def __init__(self, status, out, err, trace):
        self.status, self.out, self.err, self.trace = status, out, err, trace

    def said(self):
        """The lines of stdout in the form `word key=value …`, as (word, {key: value})."""
        for line in self.out.decode("utf-8", "replace").splitlines():
            words = line.split()
            if words and words[0] in WORDS:
                yield words[0], dict(w.split("=", 1) for w in words[1:] if "=" in w), line


def start(cmd, trace=None, env=None, preload=(), **kw):
    """Starts cmd, under the shim when `trace` names a file. `preload`: more libraries, after it."""
    full = clean_env(env)
    libs = list(preload)
    if trace:
        libs = [SHIM] + libs if SHIM not in libs else libs
        full["MEMSPY_OUT"] = trace
    if libs:
        full["LD_PRELOAD"] = " ".join(libs)
    kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen(cmd, env=full, **kw)


def run(cmd, trace=None, env=None, preload=(), input=None, timeout=240, **kw):
    if input is not None:
        kw["stdin"] = subprocess.PIPE
    child = start(cmd, trace, env, preload, **kw)
    try:
        out, err = child.communicate(input, timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Stop(f"{cmd}: still running after {timeout} s")
    made = None
    if trace:
        made = os.path.join(kw.get("cwd") or ".", trace)
        made = made if os.path.exists(made) else None
    return Result(child.returncode, out, err, made)


def program(name):
    return os.path.join(PROGRAMS, name)


def traced(cmd, trace="t.mspy", quiet=True, **kw):
    """A traced run that must leave a trace and, `quiet`, nothing of memspy's on stderr."""
    result = run(cmd, trace, **kw)
    need(result.trace, f"{cmd}: no trace; status {result.status}, stderr {result.err!r}")
    if quiet:
        expect(b"memspy" not in result.err, f"{cmd}: stderr says {result.err!r}")
    return result


def tool(*args):
    """Runs memspy, returns (status, stdout, stderr) as text."""
    done = subprocess.run([MEMSPY, *args], env=clean_env(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report(trace):
    status, out, err = tool("report", "--json", trace)
    need(status == 0, f"memspy report --json: status {status}, stderr {err!r}")
    return json.loads(out)


def check(trace, verdict="complete", lost=0):
    """memspy check: the verdict (one, or several allowed) and the events lost."""
    status, out, err = tool("check", "--json", trace)
    if not out:
        raise Stop(f"memspy check --json: status {status}, stderr {err!r}")
    found = json.loads(out)
    allowed = (verdict,) if isinstance(verdict, str) else verdict
    expect(found["verdict"] in allowed,
           f"check: verdict {found['verdict']}, wanted {verdict}: {out}")
    equal(status, 1 if found["verdict"] == "damaged" else 0, "check: exit status")
    if lost is not None:
        equal(found["lost_events"], lost, "check: events lost")
    return found


def dump_lines(trace):
    child = subprocess.Popen([MEMSPY, "dump", trace], env=clean_env(), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    yield from child.stdout
    err = child.stderr.read()
    status = child.wait()
    need(status == 0, f"memspy dump: status {status}, stderr {err!r}")


def parse(line):
    """A line of memspy dump; events get "record" too."""
    record = json.loads(line)
    record.setdefault("record", "event")
    return record


def dump(trace):
    """Every record of memspy dump, in the order of the file: buffers of a thread may come late."""
    return map(parse, dump_lines(trace))


_buffer = re.compile(rb'"process": ?(\d+).*?"thread": ?(\d+), ?"seq": ?(\d+), ?"kind"')


def dump_in_order(trace):
    """First the records that are no events, then the events thread by thread, each in its order."""
    buffers = collections.defaultdict(list)
    for line in dump_lines(trace):
        match = _buffer.search(line)
        if match:
            buffers[tuple(map(int, match.groups()))].append(line)
        else:
            yield parse(line)
    for key in sorted(buffers):
        yield from map(parse, buffers.pop(key))


def address(text):
    return int(text, 16) if isinstance(text, str) else text or 0


def is_own(event):
    """Whether the program's own text made the call (linked at 0x400000, see CMakeLists.txt)."""
    return 0x400000 <= address(event.get("caller")) < 0x500000


class Trace:
    """A small trace, all in memory."""

    def __init__(self, path):
        self.path = path
        self.records = list(dump_in_order(path))
        self.events = [r for r in self.records if r["record"] == "event"]
        self.processes = merged(r for r in self.records if r["record"] == "process")
        expect(self.events, f"{path}: no events")

    def own(self, **wanted):
        """The events made by the program's own text whose keys have the wanted values."""
        return [e for e in self.events
                if is_own(e) and all(e.get(k) == v for k, v in wanted.items())]

    def per_thread(self, events):
        """The events of each thread, threads in the order of their index."""
        groups = collections.defaultdict(list)
        for e in events:
            groups[e["process"], e["thread"]].append(e)
        return [groups[k] for k in sorted(groups, key=lambda k: k[1])]


def merged(records):
    """One record a process: what it wrote early and later, and what a copy has of its parent."""
    known = {}
    for r in records:
        known.setdefault(r["process"], {}).update((k, v) for k, v in r.items() if v is not None)
    for r in known.values():
        r.setdefault("exe", known.get(r.get("parent"), {}).get("exe", ""))
    return list(known.values())


def same_event(said, event):
    """What of a said event the trace has otherwise: list of texts."""
    wrong = []
    for key, wanted in said.items():
        if key in ("tid", "pid"):
            continue
        found = event.get(key)
        if key in ("ptr", "old"):
            ok = address(found) == int(wanted, 16)
        elif key == "path":
            ok = found in wanted.split("|")
        elif key in ("failed", "freed"):
            ok = bool(found) == (wanted == "1")
        elif key == "kind":
            ok = found == wanted
        else:
            ok = (found or 0) == int(wanted, 0)
        if not ok:
            wrong.append(f"{key}={found!r}")
    return wrong


def check_said(result, trace=None, least=1):
    """Compares what the program said with its trace; `least` things must have been said."""
    trace = trace or Trace(result.trace)
    said = collections.OrderedDict()
    things = 0
    for word, keys, line in result.said():
        things += word in ("event", "count", "process", "need")
        if word == "event":
            said.setdefault(keys.get("tid", "0"), []).append(keys)
        elif word == "count":
            wanted = {"kind": keys["kind"]}
            if "pid" in keys:
                wanted["pid"] = int(keys["pid"])
            found = [e for e in trace.own(**wanted) if not e.get("failed")]
            equal(len(found), int(keys["n"]), f"events for `{line}`")
            if "bytes" in keys:
                equal(sum(e["size"] for e in found), int(keys["bytes"]), f"bytes for `{line}`")
        elif word == "process":
            check_process(trace, keys, line)
        elif word == "need":
            expect(False, f"the program itself: {line}")
    expect(things >= least, f"the program said {things} things, wanted {least}: {result.out!r}")
    if said:
        check_events(said, trace)
    return trace


def check_process(trace, keys, line):
    for p in trace.processes:
        if all(str(p.get(k)) == v for k, v in keys.items()):
            return
    seen = [{k: p.get(k) for k in ("pid", "ppid", "origin")} for p in trace.processes]
    expect(False, f"no process for `{line}` among {seen}")


def check_events(said, trace):
    threads = trace.per_thread(trace.own())
    equal(len(threads), len(said), "threads with events of the program's own")
    for number, (wanted, found) in enumerate(zip(said.values(), threads)):
        equal(len(found), len(wanted), f"thread {number}: own events")
        for i, (w, f) in enumerate(zip(wanted, found)):
            wrong = same_event(w, f)
            if wrong:
                expect(False, f"thread {number}, event {i}: trace has {' '.join(wrong)}; "
                              f"said {w}; {f}")
                if w["kind"] != f["kind"]:
                    break


def same_run(cmd, trace="t.mspy", input=None, quiet=True, **kw):
    """Runs cmd untraced and traced; stdout, stderr and exit status must be equal."""
    plain = run(cmd, input=input, **kw)
    spied = traced(cmd, trace, quiet=quiet, input=input, **kw)
    same_results(plain, spied, cmd)
    return plain, spied


def same_results(plain, spied, what):
    equal(spied.status, plain.status, f"{what}: exit status")
    expect(spied.out == plain.out,
           f"{what}: stdout differs: {spied.out[:500]!r} {plain.out[:500]!r}")
    expect(spied.err == plain.err,
           f"{what}: stderr differs: {spied.err[:500]!r} {plain.err[:500]!r}")


def have(tool_name):
    if not shutil.which(tool_name):
        raise Skip(f"no {tool_name} here")


def as_signal(status):
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def main(functions):
    """Runs the test named on the command line (all of them without one)."""
    tests = {k[5:]: f for k, f in functions.items() if k.startswith("test_")}
    names = sys.argv[1:] or list(tests)
    if any(n not in tests for n in names):
        sys.exit(f"tests here: {' '.join(tests)}")
    home, skipped = os.getcwd(), 0
    for name in names:
        skipped += run_one(home, name, tests[name]) == SKIP
    if _wrong:
        sys.exit(1)
    sys.exit(SKIP if skipped == len(names) else 0)


def run_one(home, name, function):
    work = tempfile.mkdtemp(prefix=f"memspy-{name}-")
    os.chdir(work)
    before = len(_wrong)
    try:
        function()
    except Skip as reason:
        print(f"{name}: skipped: {reason}")
        return SKIP
    except Stop as reason:
        expect(False, str(reason))
    except Exception:  # pylint: disable=broad-except
        expect(False, traceback.format_exc())
    finally:
        os.chdir(home)
    for text in _wrong[before:][:40]:
        print(f"{name}: WRONG: {text}")
    if len(_wrong) > before:
        print(f"{name}: {len(_wrong) - before} wrong; files kept in {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
        print(f"{name}: ok")
    sys.stdout.flush()
    return 0
