# SPDX-License-Identifier: MIT
"""Compares what programs say about the processes they make (spawns.h) with the report of their trace.

What a program says is its own knowledge: pids, errno, wait statuses, its clock around the call, its
reading of /proc/self/status. The report must have each call once and no other, and each image once.
"""
import re
import struct

from harness import *

# A conversion from ticks, over a trace of a few milliseconds, is right to this part.
DRIFT = 0.02
# Reading the clock, and the way from the program into the hook and back.
CLOCK_NS = 3000

_vary = re.compile(rb"\b(pid|ppid|child|begin|end|at|main|born|vsz|rss|anon|file|shmem|pte|utime|stime|"
                   rb"maxrss|private|most|image|started|tid|made)=-?\d+")


_shim = re.compile(rb" shim=.*")  # what image.c says of its preloads, to the end of the line


def still(name):
    """A program that is linked statically, and so never recorded."""
    path = program("static_" + name)
    if not os.path.exists(path):
        raise Skip("no static libc")
    return path


def blank(out):
    """Output without what differs from run to run, lines in no order."""
    return sorted(_shim.sub(b"", _vary.sub(rb"\1", out)).splitlines())


def numbers(keys):
    return {k: int(v) if re.fullmatch(r"-?\d+", v) else v for k, v in keys.items()}


class Told:
    """What a program said, by word: forks, execs, waits, procs, notes."""

    def __init__(self, result):
        lists = collections.defaultdict(list)
        for word, keys, line in result.said():
            keys = numbers(keys)
            keys["line"] = line
            lists[word].append(keys)
        self.forks, self.execs, self.waits = lists["fork"], lists["exec"], lists["wait"]
        self.procs, self.notes = lists["proc"], lists["note"]
        for keys in lists["need"]:
            expect(False, f"the program itself: {keys['line']}")

    def note(self, key):
        """The notes with a key."""
        return [n for n in self.notes if key in n]


class Tree:
    """The processes and calls of a trace, as memspy report --json has them; times made absolute."""

    def __init__(self, trace):
        self.report = report(trace)
        self.processes = self.report["processes"]
        self.forks, self.execs = self.report["forks"], self.report["execs"]
        self.waits = self.report.get("waits", [])
        with open(trace, "rb") as f:
            self.start = struct.unpack_from("<Q", f.read(96), 72)[0]
        for call in self.forks + self.execs + self.waits:
            if call.get("at_ns") is not None:
                call["at"] = call["at_ns"] + self.start

    def of(self, pid):
        """The images of a pid, in their order."""
        return [p for p in self.processes if p["pid"] == pid]

    def calls(self, name, pids):
        return [c for c in getattr(self, name) if c["pid"] in pids]


def same(cmd, trace="t.mspy", verdict="complete", **kw):
    """Runs a program untraced and traced: the same output (ids and times apart), status, stderr; the
    trace is whole. Returns what it said traced, and the tree."""
    plain = run(cmd, **{k: v for k, v in kw.items() if k != "quiet"})
    spied = traced(cmd, trace, **kw)
    equal(spied.status, plain.status, f"{cmd}: exit status")
    same_lines(plain.out, spied.out, f"{cmd}: stdout")
    equal(spied.err, plain.err, f"{cmd}: stderr")
    check(trace, verdict, lost=0)
    spied.plain = plain
    return spied, Told(spied), Tree(trace)


def same_lines(plain, spied, what):
    a, b = collections.Counter(blank(plain)), collections.Counter(blank(spied))
    expect(a == b, f"{what} differs: untraced only {dict(a - b)}, traced only {dict(b - a)}")


def alike(said, wanted, keys):
    """Whether a record has what was said of it; a said 0 for a pid means that it is not known."""
    for key in keys:
        if key not in said or said[key] in ("", "-") or (key == "child" and said[key] <= 0):
            continue
        found = wanted.get(key)
        if key == "errno":
            found = found or 0
        if str(found) not in str(said[key]).split("|"):
            return False
    return True


def match(said, records, keys, what):
    """Pairs each said thing with a record of its own; none may be left on either side."""
    left, pairs = list(records), []
    for s in said:
        found = next((r for r in left if alike(s, r, keys)), None)
        near = [r for r in records if alike(s, r, keys[:1])]
        if expect(found is not None, f"{what}: not in the report: `{s['line']}`; there: "
                                     f"{[short(r) for r in near[:4]]}"):
            left.remove(found)
            pairs.append((s, found))
    expect(not left, f"{what}: {len(left)} in the report that nobody made: "
                     f"{[short(r) for r in left[:4]]}")
    return pairs


def short(record):
    return {k: v for k, v in record.items() if v is not None and k not in (
        "hist", "libc", "allocator", "line", "ns", "start_ns", "end_ns")}


def check_forks(told, tree, pids=None):
    """Every call of fork and its kin that the program made, exactly once."""
    pids = pids or {f["pid"] for f in told.forks}
    pairs = match(told.forks, tree.calls("forks", pids), ("pid", "kind", "child", "errno"), "forks")
    for said, found in pairs:
        if isinstance(said["errno"], int):
            equal(found["ok"], said["errno"] == 0, f"ok of `{said['line']}`")
        if said.get("begin"):
            check_time(said, found)
        if "rss" in said:
            check_sizes(said, found)
    return pairs


def check_time(said, found):
    """The call lies within what the program's clock says around it."""
    outer, line = said["end"] - said["begin"], said["line"]
    if found.get("ns") is not None:
        expect(0 < found["ns"] <= outer * (1 + DRIFT) + CLOCK_NS,
               f"ns {found['ns']}, around it {outer} for `{line}`")
    slack = CLOCK_NS + 200000  # between the clocks' pairs
    if found.get("at") is not None:
        expect(said["begin"] - slack <= found["at"] <= said["end"] + slack,
               f"at {found['at']} for `{line}`")


def check_sizes(said, found):
    """Sizes agree with the program's own reading just before; the kernel keeps its counters per
    processor, so that they may be some pages apart."""
    for key, name, slack in (("vsz", "vsz_kb", 300), ("rss", "rss_kb", 600), ("pte", "pte_kb", 16),
                             ("anon", "rss_anon_kb", 600), ("file", "rss_file_kb", 600),
                             ("shmem", "rss_shmem_kb", 300), ("threads", "threads", 0)):
        value = found.get(name)
        expect(value is not None and abs(value - said[key]) <= slack,
               f"{name} is {value}, own reading {said[key]} for `{said['line']}`")
    reading = found.get("reading_ns")
    expect(reading is not None and 0 < reading < 50e6, f"reading_ns {reading}")


def check_overhead(pairs, what):
    """The clock runs around the real call alone: the program's own measure is not much longer, but for
    what the recorder does beside it."""
    rest = sorted(s["end"] - s["begin"] - f["ns"] - (f.get("own_ns") or 0) for s, f in pairs)
    median = rest[len(rest) // 2]
    print(f"{what}: own measure less ns and the recorder's own, median {median / 1e3:.1f} us")
    expect(median < 300e3, f"{what}: {median} ns of the call are not in ns")


def check_execs(told, tree, pids=None):
    pids = pids or {e["pid"] for e in told.execs}
    execs = sorted(tree.calls("execs", pids), key=lambda e: e.get("at_ns") or 0)
    pairs = match(told.execs, execs, ("pid", "kind", "path", "errno"), "execs")
    for said, found in pairs:
        equal(found["ok"], said["errno"] == 0, f"ok of `{said['line']}`")
    return pairs


def check_waits(told, tree, pids=None):
    pids = pids or {w["pid"] for w in told.waits}
    pairs = match(told.waits, tree.calls("waits", pids), ("pid", "kind", "child", "status"), "waits")
    for said, found in pairs:
        if said.get("begin"):
            check_time(said, found)
    return pairs


def check_procs(told, tree):
    """Every image that was said is in the tree, once."""
    left = list(tree.processes)
    for s in told.procs:
        s = dict(s, made_by=s.get("by", ""))
        keys = ("pid", "ppid", "origin", "made_by", "end", "status")
        found = next((p for p in left if alike(s, p, keys)), None)
        if expect(found is not None, f"no process for `{s['line']}`; of this pid: "
                                     f"{[short(p) for p in tree.of(s['pid'])]}"):
            left.remove(found)
    return left


def origins(tree):
    return collections.Counter(p["origin"] for p in tree.processes)


def compare(told, tree, spied, processes=None, events=True):
    """All of it; `processes` images are in the tree."""
    check_forks(told, tree)
    check_execs(told, tree)
    check_waits(told, tree)
    check_procs(told, tree)
    if processes is not None:
        equal(len(tree.processes), processes,
              f"processes in the tree: {[short(p) for p in tree.processes][:12]}")
    if events and b"count " in spied.out:
        check_said(spied, least=0)


class Strace:
    """What strace saw of the processes of a run: made [(parent, child, "copy" or "shared")], execs
    [(pid, path, name of the error or "")] in their order, ended {pid: status or minus signal}."""

    _line = re.compile(r"^(\d+) +(.*)$")
    _call = re.compile(r"^(\w+)\((.*)\) += (-?\d+|\?)(?: (E\w+))?")
    _end = re.compile(r"^\+\+\+ (?:exited with (\d+)|killed by (\w+))")

    def __init__(self, path):
        self.made, self.execs, self.ended, waiting = [], [], {}, {}
        self._process = {}  # of a thread, by its number
        with open(path, errors="replace") as f:
            for line in f:
                pid, text = self._line.match(line).groups()
                if text.endswith("<unfinished ...>"):
                    waiting[pid] = text[:-len("<unfinished ...>")].rstrip()
                    continue
                if text.startswith("<..."):
                    text = waiting.pop(pid, "") + text.split("resumed>", 1)[1]
                self._take(int(pid), text)

    def _take(self, pid, text):
        end, call = self._end.match(text), self._call.match(text)
        if end:
            self.ended[pid] = int(end[1]) if end[1] else -getattr(signal, end[2], 0)
        elif call and call[1] in ("execve", "execveat"):
            strings = re.search(r'"((?:[^"\\]|\\.)*)"', call[2])
            self.execs.append((self._process.get(pid, pid), strings[1] if strings else "", call[4] or ""))
        elif call and call[1] in ("fork", "vfork", "clone", "clone3") and call[3].isdigit():
            process, child = self._process.get(pid, pid), int(call[3])
            if "CLONE_THREAD" in call[2]:
                self._process[child] = process
            elif child > 0:
                shared = call[1] == "vfork" or "CLONE_VM" in call[2]
                self.made.append((process, child, "shared" if shared else "copy"))


def strace(cmd, trace=None, env=None, **kw):
    """Runs cmd under strace, and under the shim as well when `trace` names a file."""
    have("strace")
    if trace:
        env = dict(env or {}, MEMSPY_OUT=trace, LD_PRELOAD=SHIM)
    sets = [x for k, v in (env or {}).items() for x in ("-E", f"{k}={v}")]
    done = run(["strace", "-f", "-q", "-e", "trace=%process", "-o", "strace.out", *sets, *cmd], **kw)
    if b"ptrace" in done.err.lower():
        raise Skip("strace may not trace here")
    return done, Strace(os.path.join(kw.get("cwd") or ".", "strace.out"))
