# SPDX-License-Identifier: MIT
"""Driver of the golden traces and of the independent reader.

usage: test_golden.py MEMSPY SHIM TEST [NAME]

    v1 NAME        memspy says of v1/NAME.mspy what it always said (NAME.dump, NAME.check), and the
                   independent reader, read.py, agrees with it line for line
    bad NAME       the same for v1/bad/NAME.mspy, which has no NAME.dump
    example        both readers on the trace that FORMAT.md spells out byte by byte; stale,
                   malformed, runs, weight, records: on variants of it
    fresh NAME     both readers on a trace recorded now; NAME is a function fresh_NAME below
    self           the comparisons above fail when they must

An expected check is a line with the exit status and what `check --json` printed; keys that came
later are allowed. A test that lacks a program to trace is skipped (status 77).
"""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import zstandard

HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = os.path.join(HERE, "../../include/memspy/FORMAT.md")
PYTHON = sys.executable
# read.py does not go on after a wrong CRC of the file header; memspy does, FORMAT.md allows both.
MEMSPY_ONLY = {"flipped_header"}


class Wrong(Exception):
    pass


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def same(found, wanted, names):
    """Fails, showing the first difference, unless two lists of objects are equal."""
    for i, (one, other) in enumerate(zip(found, wanted)):
        if one != other:
            raise Wrong(f"line {i + 1} differs:\n  {names[0]}: {json.dumps(one)}\n"
                        f"  {names[1]}: {json.dumps(other)}")
    if len(found) != len(wanted):
        raise Wrong(f"{names[0]} has {len(found)} lines, {names[1]} {len(wanted)}")


def includes(found, wanted, where="check"):
    """Fails unless `found` has everything that `wanted` has."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            includes(found.get(key), value, f"{where}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for i, value in enumerate(wanted):
            includes(found[i], value, f"{where}[{i}]")
    elif found != wanted:
        raise Wrong(f"{where}: found {found!r}, wanted {wanted!r}")


def dump(trace):
    """The lines of memspy dump --raw, None if it cannot read the trace."""
    status, output, errors = run(MEMSPY, "dump", "--raw", trace)
    if status not in (0, 3):
        raise Wrong(f"dump: status {status}: {errors}")
    return lines(output) if status == 0 else None


def check(trace):
    status, output, _ = run(MEMSPY, "check", "--json", os.path.basename(trace),
                            cwd=os.path.dirname(trace))
    return status, json.loads(output) if output.strip() else None


def agree(trace):
    """Fails unless the two readers agree on a trace. Returns its lines."""
    found = dump(trace)
    status, output, errors = run(PYTHON, "-B", os.path.join(HERE, "read.py"), trace)
    if status not in (0, 1, 3) or (status == 3) != (found is None):
        raise Wrong(f"read.py: status {status}: {errors}")
    if found is not None:
        same(found, lines(output), ("memspy", "read.py"))
    return found


def check_as_expected(trace):
    with open(trace.replace(".mspy", ".check"), encoding="utf-8") as file:
        wanted_status = int(file.readline().split()[1])
        text = file.read()
    status, found = check(trace)
    if status != wanted_status:
        raise Wrong(f"check: status {status}, wanted {wanted_status}")
    includes(found, json.loads(text) if text.strip() else None)
    return found


def events_of(found):
    return [line for line in found if "record" not in line]


def test_v1(name):
    trace = os.path.join(HERE, "v1", name + ".mspy")
    expected = trace.replace(".mspy", ".dump")
    opened = gzip.open(expected + ".gz") if os.path.exists(expected + ".gz") else \
        open(expected, "rb")
    with opened as file:
        wanted = lines(file.read())
    same(dump(trace), wanted, ("memspy", os.path.basename(expected)))
    found = agree(trace)
    includes(check_as_expected(trace)["events"], len(events_of(found)), "number of events")
    print(len(found), "lines")


def test_bad(name):
    trace = os.path.join(HERE, "v1", "bad", name + ".mspy")
    found = dump(trace) if name in MEMSPY_ONLY else agree(trace)
    checked = check_as_expected(trace)
    if (found is None) != (checked is None):
        raise Wrong("dump and check disagree about whether it can be read")
    if checked is not None:
        includes(checked["events"], len(events_of(found)), "number of events")


def example_parts():
    """The bytes of section 11 of FORMAT.md, by the word after ```hex."""
    with open(FORMAT, encoding="utf-8") as file:
        parts = re.findall(r"^```hex (\w+)\n(.*?)^```", file.read(), re.M | re.S)
    return {name: bytes.fromhex("".join(line.split("|")[0] for line in text.splitlines()))
            for name, text in parts}


def with_crc(header):
    return header[:60] + struct.pack("<I", zlib.crc32(header[:60]))


def example(part, sequence=2):
    """The trace of section 11, and behind it a live block with the slots of 11.5."""
    size, = struct.unpack_from("<I", part["header"], 52)
    data = part["header"].ljust(4096, b"\0") + part["block"] + part["stored"]
    block = with_crc(struct.pack("<4sBBHIIQIIIIQQI", b"MSBk", 3, 0, 64, 0, 0, 0, size - 64, 0, 0,
                                 0, 1001000, 1001000, 0))
    block += struct.pack("<IIQQ", 1, 1, sequence, 1000000)
    return data.ljust(8192, b"\0") + (block.ljust(256, b"\0") + part["slots"]).ljust(size, b"\0")


def agree_on(data, wanted):
    trace = os.path.join(PLACE, "example.mspy")
    with open(trace, "wb") as file:
        file.write(data)
    same(agree(trace), wanted, ("memspy", "FORMAT.md"))


def example_events():
    common = {"process": 1, "thread": 1, "seq": 1}
    block = {"ptr": "0x5581c0a012a0", "usable": 24}
    loop = [
        common | block | {"kind": "free", "path": "tcache", "caller": "0x5581bf001190"},
        common | block | {"kind": "malloc", "path": "tcache", "size": 20,
                          "caller": "0x5581bf001169"}]
    return [
        common | block | {"kind": "malloc", "path": "arena", "size": 24, "start": 1000005,
                          "caller": "0x5581bf001169", "cost": 210, "weight_log2": 0},
        *loop, *loop, *loop,
        common | {"kind": "realloc", "path": "arena", "ptr": "0x5581c0a012c0", "size": 40,
                  "usable": 40, "caller": "0x5581bf0011b0", "old": "0x5581c0a012a0"}]


def test_example(_):
    events = example_events()
    agree_on(example(example_parts()), events + [events[-1] | {"seq": 2}])


def test_stale(_):
    """7.2: the live block's slots do not count, its buffer is in the sealed block."""
    agree_on(example(example_parts(), 1), example_events())


def with_raw(part, raw):
    """The example with another payload."""
    stored = zstandard.ZstdCompressor(write_checksum=True).compress(bytes(raw))
    block = with_crc(part["block"][:24] + struct.pack("<II", len(stored), len(raw)) +
                     part["block"][32:])
    return part | {"stored": stored, "block": block}


def test_malformed(_):
    """7.2, 10.4: the frame is sound, what is in it is not: the live block's slots count."""
    part = example_parts()
    wide = part["raw"].index(bytes.fromhex("07d484d0c083d602"))
    counters = part["raw"].index(bytes.fromhex("2f00033c"))
    for name, at, value in (("width of the signatures", 6, 9), ("a signature", 7, 9),
                            ("a run at the begin", 7, 0), ("a run of another period", 10, 1),
                            ("no run", 10, 2), ("length 0", wide - 1, 0),
                            ("a run too short", wide - 1, 3), ("a run too long", wide - 1, 6),
                            ("a run far too long", wide - 1, 200), ("a guess", wide + 22, 6),
                            ("no aux", wide + 22, 10), ("the counters", counters + 1, 255),
                            ("their size", counters, 46), ("a kind", wide + 9, 63)):
        raw = bytearray(part["raw"])
        raw[at] = value
        try:
            agree_on(example(with_raw(part, raw), 1), example_events()[-1:])
        except Wrong as error:
            raise Wrong(f"{name}: {error}") from error


def test_runs(_):
    """6.6: runs of either period in one column, and one behind the other."""
    part = example_parts()
    event = example_events()
    # Signature column and run column replaced: events 1, 2, 3, then what is said here.
    for signatures, lengths, wanted in (
            ([2, 3, 4, 0, 0, 5], [1, 3], [0, 1, 2, 1, 2, 1, 2, 7]),
            ([2, 3, 4, 5, 1, 0], [2, 2], [0, 1, 2, 7, 0, 1, 0, 1]),
            ([2, 3, 4, 5, 1], [4], [0, 1, 2, 7, 0, 1, 2, 7]),
            ([2, 3, 4, 5, 0], [4], [0, 1, 2, 7, 2, 7, 2, 7])):
        raw = part["raw"][:5] + bytes([1 + len(signatures), 1, *signatures]) + part["raw"][12:]
        raw = raw.replace(bytes.fromhex("02010407d4"), bytes([1 + len(lengths), 1, *lengths]) +
                          bytes.fromhex("07d4"))
        agree_on(example(with_raw(part, raw)),
                 [event[i] for i in wanted] + [event[7] | {"seq": 2}])


def test_weight(_):
    """7.1: a slot with a weight above 15 is no event."""
    part = example_parts()
    part["slots"] = part["slots"][:22] + b"\x10" + part["slots"][23:]
    agree_on(example(part), example_events())


def block(kind, payload, raw, wrong=0):
    """A block of process 1 that is no EVENTS block. `wrong` is added to a raw one's checksum."""
    stored, crc = payload, (zlib.crc32(payload) + wrong) % 2**32
    if not raw:
        stored, crc = zstandard.ZstdCompressor(write_checksum=True).compress(payload), 0
    header = struct.pack("<4sBBHIIQIIIIQQI", b"MSBk", kind, int(raw), 64, 1, 0, 0, len(stored),
                         len(payload), 0, 0, 1001000, 1001000, crc)
    return (with_crc(header) + stored).ljust(64 + (len(stored) + 63) // 64 * 64, b"\0")


def number_of_lines(made):
    trace = os.path.join(PLACE, "records.mspy")
    with open(trace, "wb") as file:
        file.write(example_parts()["header"].ljust(4096, b"\0") + made)
    return len(agree(trace))


def test_records(_):
    """2, 4, 8.3 to 8.6: what is strange is read, what is malformed is not."""
    end = 2**64 - 1
    for kind, payload, wanted in (
            (1, b"", 1), (1, b"\1\1\7", 1), (1, b"\0\2ab\1\1\7", 1), (1, b"\1\3\7\0\0", 1),
            (1, b"\x28\1\x80\1\1\7\1\1\x09", 1), (1, b"\7\4/a\0b\x08\5/a\0b\0", 1),
            (1, b"\x08\5/a\0b\0\x0b\1\0\7\0", 1), (1, b"\4\1\x63", 1), (1, b"\1", 0),
            (1, b"\1\2\7", 0), (1, b"\1\1\7\2\0", 0), (1, b"\1\1\7\2\1\x80", 0),
            (1, b"\1\1\7\x17\1\x80", 0), (1, b"\7\x80", 0), (4, b"", 1),
            (4, b"\0\0\1\1\3\3\4/a\0b", 1), (4, b"\1\1\x63", 1), (4, b"\1\0", 0),
            (4, b"\1\5\x81\x80\x80\x80\x10", 1), (4, b"\1\1\1\2\1\x80", 0), (4, b"\3\2a", 0),
            (5, b"\0", 1), (5, b"", 0), (5, b"\1\x10\x10\0\4a\0b\0", 1),
            (5, b"\2\x10\x10\0\1b" + varint(end - 0x17) + b"\4\0\1a", 1),
            (5, b"\2\x10\x10\0\1b", 0), (5, b"\1\x10\x10\0\2b", 0),
            (5, b"\1\x10" + varint(end) + b"\0\0", 0), (5, b"\1" + varint(end) + b"\1\0\0", 0),
            (5, b"\1" + varint(end) + b"\0\0\0", 1),
            (6, b"\1\1\1", 1), (6, b"", 1), (6, b"\1\1\x63\x63\1\x80", 1), (6, b"\1\1\1\4\0", 0),
            (6, b"\1\1\x16\x11\4/a\0b\x12\5a\0\0b\0\7\1\2\x02\1\7\x08\2\xff\1", 1),
            (6, b"\1\1\x16\x11" + varint(2000) + b"p" * 2000 + b"\x12" + varint(900) + b"a\0" * 450,
             1), (6, b"\1\1\1\5\1\x80", 0), (6, b"\x11\x80", 0), (9, b"", 0)):
        for raw in (False, True):
            found = number_of_lines(block(kind, payload, raw))
            if found != wanted:
                raise Wrong(f"{found} lines of a block of type {kind} with {payload!r}, raw: {raw}")
        if number_of_lines(block(kind, payload, True, wrong=1)):
            raise Wrong(f"lines of a block of type {kind} with a wrong checksum")


def varint(value):
    groups = [value >> shift & 127 for shift in range(0, 70, 7) if value >> shift or not shift]
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


# Programs to trace now: command, fewest events, fewest processes

THREADS = """
import threading
def work():
    for i in range(3000):
        bytes(i)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
FAMILY = """
import os, signal, subprocess
subprocess.run(["/bin/true"])
subprocess.run(["/bin/sh", "-c", "/bin/echo; exit 3"], stdout=subprocess.DEVNULL)
if os.fork() == 0:
    [bytes(i) for i in range(2000)]
    os._exit(4)
if os.fork() == 0:
    [bytes(i) for i in range(2000)]
    os.kill(os.getpid(), signal.SIGKILL)
os.wait(), os.wait()
"""
EXEC_FAILS = """
import os
if os.fork() == 0:
    try:
        os.execv("/nonexistent/program", ["program"])
    except OSError:
        pass
    [bytes(i) for i in range(2000)]
    os._exit(0)
os.wait()
"""
SQL = """
create table t(a, b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i, hex(i * 7) from n;
select count(*), max(b) from t where b like '%3%';
"""


def fresh_jq():
    return ["jq", "-n", "[range(20000) | tostring] | length"], 20000, 1, {}


def fresh_jq_exact():
    return ["jq", "-n", "[range(3000) | tostring] | length"], 3000, 1, {"MEMSPY_KERNEL": "exact"}


def fresh_sqlite3():
    return ["sqlite3", ":memory:", SQL], 20000, 1, {}


def python(code):
    return [PYTHON, "-ISB", "-c", code]


def fresh_python():
    return python("x = [str(i) for i in range(10000)]"), 10000, 1, {"PYTHONMALLOC": "malloc"}


def fresh_python_threads():
    return python(THREADS), 10000, 1, {"PYTHONMALLOC": "malloc"}


def fresh_python_family():
    return python(FAMILY), 5000, 6, {}


def fresh_exec_fails():
    return python(EXEC_FAILS), 2000, 2, {}


def test_fresh(name):
    command, fewest, processes, variables = globals()["fresh_" + name]()
    if shutil.which(command[0]) is None:
        print("there is no", command[0])
        sys.exit(77)
    trace = os.path.join(PLACE, "fresh.mspy")
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("MEMSPY") and key != "LD_PRELOAD"}
    environment |= {"LD_PRELOAD": SHIM, "MEMSPY_OUT": trace} | variables
    # -I makes Python ignore PYTHONMALLOC.
    command = ["-SB" if "PYTHONMALLOC" in variables and word == "-ISB" else word
               for word in command]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Wrong(f"{command[0]} ended with {done.returncode}")
    found = agree(trace)
    count = len(events_of(found))
    started = len({line["process"] for line in found if line.get("record") == "process"})
    if count < fewest or started < processes:
        raise Wrong(f"only {count} events of {started} processes")
    status, checked = check(trace)
    includes(checked["events"], count, "number of events")
    includes((status, checked["missing_buffers"], checked["damaged_bytes"]), (0, 0, 0),
             "status, missing buffers, damaged bytes")
    print(count, "events of", started, "processes")


def fails(what, function, *arguments):
    try:
        function(*arguments)
    except Wrong:
        return
    raise SystemExit(f"no failure from: {what}")


def test_self(_):
    trace = os.path.join(PLACE, "basic.mspy")
    for suffix in "mspy", "dump", "check":
        shutil.copy(os.path.join(HERE, "v1", "basic." + suffix), PLACE)
    good = agree(trace)
    check_as_expected(trace)
    for i in 0, len(good) // 2, len(good) - 1:
        for key, value in good[i].items():
            altered = dict(good[i], **{key: value + 1 if isinstance(value, int) else "x"})
            fails(f"{key} altered", same, good[:i] + [altered] + good[i + 1:], good, "ab")
            less = {k: v for k, v in good[i].items() if k != key}
            fails(f"{key} left out", same, good[:i] + [less] + good[i + 1:], good, "ab")
        fails("line left out", same, good[:i] + good[i + 1:], good, "ab")
    fails("lines swapped", same, good[:5] + [good[6], good[5]] + good[7:], good, "ab")
    fails("one line more", same, good + good[-1:], good, "ab")

    with open(trace.replace(".mspy", ".check"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("status 0", "status 1"), ('"complete"', '"damaged"'),
                     ('"pid": ', '"pid": 1')):
        with open(trace.replace(".mspy", ".check"), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))
        fails(f"{old} altered", check_as_expected, trace)

    global MEMSPY  # a memspy whose output has one digit altered must be noticed by agree()
    altered = os.path.join(PLACE, "altered")
    with open(altered, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh\n'{MEMSPY}' "$@" | sed '100s/"ptr":"0x/&1/'\n""")
    os.chmod(altered, 0o755)
    MEMSPY = altered
    fails("altered memspy", agree, trace)


def main():
    try:
        globals()["test_" + TEST](sys.argv[4] if len(sys.argv) > 4 else None)
    except Wrong as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    MEMSPY, SHIM, TEST = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="memspy-golden-") as PLACE:
        sys.exit(main())
