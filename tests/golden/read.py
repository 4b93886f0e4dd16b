# SPDX-License-Identifier: MIT
"""The independent reader: prints a trace as `memspy dump --raw` does, one JSON object a line.

Written from include/memspy/FORMAT.md alone, and to be changed only with it: when this reader and
memspy disagree, one of them, or the document, is wrong. Section numbers below are the document's.
It prints nothing of a block that is damaged, and says on stderr where that was.

usage: read.py TRACE    exit status: 0, 1 if parts are damaged, 3 if it is no trace
"""
import json
import struct
import sys
import zlib

import zstandard

MASK = 2**64 - 1
PROCESS, EVENTS, LIVE, END, MODULES, SPAWN = 1, 2, 3, 4, 5, 6  # types of blocks, section 4
RAW = 1  # flag of a block
TIMED, FAILED, SHRANK, EXT, FREED = 8, 16, 32, 64, 128  # attr, 5.3
KINDS = {  # 5.2
    1: "malloc ptr size usable caller", 2: "calloc ptr size usable caller",
    3: "realloc ptr size usable caller old", 4: "reallocarray ptr size usable caller old",
    5: "memalign ptr size usable caller align", 6: "aligned_alloc ptr size usable caller align",
    7: "posix_memalign ptr size usable caller align", 8: "valloc ptr size usable caller",
    9: "pvalloc ptr size usable caller", 16: "free ptr usable caller",
    17: "free_sized ptr size usable caller", 18: "free_aligned_sized ptr size usable caller align",
    32: "mmap ptr size caller aux", 33: "munmap ptr size caller aux",
    34: "mremap ptr size usable caller old", 35: "brk ptr size caller aux",
    36: "sbrk ptr size caller aux", 37: "madvise ptr size caller aux",
    38: "malloc_trim ptr size caller aux", 48: "kernel ptr size aux"}
KINDS = {number: text.split() for number, text in KINDS.items()}
ALLOC_PATHS = "unknown tcache arena brk heap mmap mremap unknown".split()  # 5.4
FREE_PATHS = "unknown tcache arena trim munmap unknown unknown unknown".split()


class Malformed(Exception):
    pass


class Bytes:
    """A place in some bytes, from which numbers are taken one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Malformed("ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self):  # section 2
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128:
                break
        if byte >= 128 or value > MASK:
            raise Malformed("varint is too long")
        return value

    def sparse(self, size):  # section 2
        index = -1
        for _ in range(self.varint()):
            index += 1 + self.varint()
            self.varint()
            if index >= size:
                raise Malformed("index in a sparse array")

    def end(self):
        return self.at == len(self.data)


def unzigzag(u):
    return u >> 1 ^ (MASK if u & 1 else 0)


def frees(kind, attr):
    return 16 <= kind <= 18 or attr & FREED


# Events in a sealed buffer: section 6

def numbers(column, wide):
    """The numbers of a column, 6.1. `wide` is where the ones go on that are too wide for it."""
    width = column.u8()
    size = len(column.data) - 1
    if width > 4 or (size % width if width else size):
        raise Malformed("width of a column")
    return taken(column, width, size // width if width else 0, wide)


def taken(column, width, count, wide):
    for i in range(count):
        number = sum(column.data[1 + k * count + i] << 8 * k for k in range(width))
        yield wide.varint() if number == 2**32 - 1 else number
    raise Malformed("a column is used up")


def dictionary(column, most):  # 6.3
    entries, caller = [], 0
    while not column.end():
        kind, attr, marks = column.take(3)
        if kind not in KINDS or len(entries) == most:
            raise Malformed("entry of the dictionary")
        align = column.u8() if "align" in KINDS[kind] else 0
        weight = column.u8() if attr & TIMED else 0
        if align > 63 or weight > 15:
            raise Malformed("value in the dictionary")
        has = KINDS[kind]
        if marks & 4 and not ("size" in has and "usable" in has) or \
                marks & 8 and not ("aux" in has or "old" in has):
            raise Malformed("mark in the dictionary")  # every kind has the ptr of marks 1 and 2
        if "caller" in KINDS[kind]:
            caller = (caller + unzigzag(column.varint())) & MASK
        entries.append((kind, attr & ~EXT, marks, align, weight, caller))
    return entries


def guess(kind, attr, size):  # 6.5
    if not frees(kind, attr) and attr & 7 == 5:
        return ((size + 16 + 4095 & MASK & ~4095) - 16) & MASK
    return (max(size + 8 + 15 & MASK & ~15, 32) - 8) & MASK


def check_counters(data):  # 8.2
    for _ in range(12):
        if data.varint():
            for _ in range(5):
                data.varint()
            data.sparse(304)
    data.varint(), data.varint(), data.sparse(64), data.sparse(5)


def repeat(events, period, length, count):  # 6.6
    if length == 0 or period > len(events) or length > count - len(events):
        raise Malformed("run")
    for _ in range(length):
        events.append(events[-period])


def sealed(payload, header):
    """The events of an EVENTS block."""
    data = Bytes(payload)
    count, base, columns = data.varint(), data.varint(), data.varint()
    if count != header["events"] or columns < 10:
        raise Malformed("events or columns")
    column = [Bytes(data.take(data.varint())) for _ in range(columns)]
    check_counters(Bytes(data.take(data.varint())))
    signature, ptrs, sizes, usables, auxs, starts, costs, lengths = (
        numbers(column[i], column[8]) for i in range(8))
    entries = dictionary(column[9], count)
    last, start, bins = 0, base, {}
    events = []
    while len(events) < count:
        index = next(signature)
        if index < 2:
            repeat(events, 2 if index == 0 else 4, next(lengths), count)
            continue
        if index - 2 >= len(entries):
            raise Malformed("signature")
        kind, attr, marks, align, weight, caller = entries[index - 2]
        fields = KINDS[kind]
        event = {"kind": kind, "attr": attr, "align": align, "weight_log2": weight,
                 "caller": caller, "usable": 0, "aux": 0}
        if "size" in fields:
            event["size"] = next(sizes)
        if "usable" in fields and "size" in fields:
            event["usable"] = guess(kind, attr, event["size"])
            if not marks & 4:
                event["usable"] = (event["usable"] + unzigzag(next(usables))) & MASK
        elif "usable" in fields:
            code = next(usables)
            event["usable"] = code >> 1 if code & 1 else ((code >> 1) * 16 + 8) & MASK
        if not marks & 8 and "old" in fields:  # 6.4
            last = (last + unzigzag(next(auxs))) & MASK
            event["aux"] = (last << 4 | last >> 60) & MASK
        elif not marks & 8 and "aux" in fields:
            event["aux"] = next(auxs)
        usable = event["usable"]
        cached = 24 <= usable <= 1032 and usable % 16 == 8
        stack = bins.setdefault(usable, []) if cached else []
        if marks & 1:
            if frees(kind, attr) or not stack:
                raise Malformed("the model has no address")
            last = stack.pop()
        elif not marks & 2:
            last = (last + unzigzag(next(ptrs))) & MASK
        if frees(kind, attr):
            stack.append(last)
            del stack[:-8]
        event["ptr"] = (last << 4 | last >> 60) & MASK
        if attr & TIMED:
            start = (start + unzigzag(next(starts))) & MASK
            event["start"], event["cost"] = start, next(costs)
        events.append(event)
    return events


# Events in a live buffer: section 7

def live(block):
    base, = struct.unpack_from("<Q", block, 80)
    at = 256
    while at + 32 <= len(block):
        first = struct.unpack_from("<4Q", block, at)
        at += 32
        kind, attr, ptr = first[0] & 255, first[0] >> 8 & 255, first[0] >> 16
        size, weight, align = first[1] & 2**48 - 1, first[2] >> 48 & 255, first[2] >> 56
        usable, cost, aux = (size + (first[1] >> 48)) & MASK, first[3] >> 40, 0
        if attr & EXT and kind not in (0, 255):
            second = struct.unpack_from("<4Q", block, at) if at + 32 <= len(block) else [0]
            if second[0] & 255 != 255:
                continue
            at += 32
            ptr |= (second[0] >> 8 & 0xffff) << 48
            cost, (aux, size, usable) = second[0] >> 24, second[1:]
        if kind in KINDS and weight <= 15:
            yield {"kind": kind, "attr": attr & ~EXT, "align": align if align < 64 else 0,
                   "weight_log2": weight, "caller": first[2] & 2**48 - 1, "usable": usable,
                   "aux": aux, "ptr": ptr, "size": size, "cost": cost,
                   "start": (base + (first[3] & 2**40 - 1)) & MASK}


# Lines as `memspy dump --raw` prints them: see memspy(1)

def event_line(owner, event):
    name, *fields = KINDS[event["kind"]]
    attr, aux = event["attr"], event["aux"]
    line = dict(zip(("process", "thread", "seq"), owner), kind=name)
    if event["kind"] < 32:
        line["path"] = (FREE_PATHS if frees(event["kind"], attr) else ALLOC_PATHS)[attr & 7]
    for field in fields:
        if field in ("size", "usable"):
            line[field] = event[field]
        elif field in ("ptr", "caller"):
            line[field] = hex(event[field])
        elif field == "align":
            line[field] = 1 << event[field] if event[field] else 0
        elif field == "old":
            line[field] = hex(aux)
        elif name == "mmap":
            line.update(prot=aux & 2**32 - 1, flags=aux >> 32)
        elif name in ("brk", "sbrk"):
            line["break"] = hex(aux)
        else:
            line[{"madvise": "advice", "kernel": "nr"}.get(name, "aux")] = aux
    for bit, key in (FAILED, "failed"), (SHRANK, "shrank"), (FREED, "freed"):
        if attr & bit:
            line[key] = True
    if attr & TIMED:
        line.update({key: event[key] for key in ("start", "cost", "weight_log2")})
    return line


def text(value):
    return value.decode("utf-8", "replace")


def properties(payload, numbers_of):
    """The values of the tags that are there, section 2; which are numbers the tag says."""
    data, found = Bytes(payload), {}
    while not data.end():
        tag = data.u8()
        value = data.take(data.varint())
        found[tag] = Bytes(value).varint() if tag in numbers_of else value
    return found


def string(value):
    return text(value.split(b"\0")[0])


def strings(value):
    values = text(value).split("\0")  # the last may be cut, and so without its 0
    return values if values[-1] else values[:-1]


def process_line(payload, header):  # 8.3: what this block tells
    found = properties(payload, {*range(1, 6), *range(13, 21), 22, 23, 24, 25})
    line = {"record": "process", "process": header["process"]}
    for tag, key in (1, "pid"), (2, "ppid"), (3, "parent"), (24, "ancestor"), (25, "made"):
        if tag in found:
            line[key] = found[tag]
    if 4 in found:
        line["origin"] = {1: "initial", 2: "fork", 3: "exec"}.get(found[4], "unknown")
    for tag, key in (7, "exe"), (11, "libc"), (12, "allocator"):
        if string(found.get(tag, b"")):
            line[key] = string(found[tag])
    if 8 in found:
        line["argv"] = strings(found[8])
    for tag, key in (13, "flags"), (14, "floor_ticks"), (5, "start_ticks"):
        if tag in found:
            line[key] = found[tag]
    return line


def end_line(payload, header):  # 8.4
    found = properties(payload, {1, 2, 3})
    hows = {1: "exit", 2: "_exit", 3: "quick_exit", 4: "signal", 5: "daemon"}
    line = {"process": header["process"], "record": "end", "how": hows.get(found.get(1), "unknown")}
    if 2 in found:
        line["status"] = found[2]
    if found.get(3):
        line["pid"] = found[3]
    return line


SPAWN_KINDS = {  # 8.6
    1: "fork", 2: "_Fork", 3: "vfork", 4: "clone", 5: "daemon", 6: "forkpty", 7: "posix_spawn",
    8: "posix_spawnp", 9: "pidfd_spawn", 10: "pidfd_spawnp", 11: "system", 12: "popen",
    13: "wordexp", 20: "execve", 21: "execv", 22: "execvp", 23: "execvpe", 24: "execl",
    25: "execlp", 26: "execle", 27: "execveat", 28: "fexecve", 40: "wait", 41: "waitpid",
    42: "wait3", 43: "wait4", 44: "waitid", 45: "pclose", 60: "main"}
SPAWN_KEYS = ("- kind pid tid child start cost errno caller rss_kb rss_anon_kb rss_file_kb "
              "rss_shmem_kb pte_kb vsz_kb threads reading path argv entry target status utime_us "
              "stime_us maxrss_kb stream gap_begin gap_dups gap_closes gap_opens own").split()


def spawn_line(payload, header):  # 8.6
    found = properties(payload, {*range(1, 31)} - {17, 18})
    line = {"process": header["process"], "record": "spawn",
            "kind": SPAWN_KINDS.get(found.get(1), "unknown")}
    if found.get(2):
        line["pid"] = found[2]
    for tag in sorted(set(found) & {*range(3, 31)}):
        value = found[tag]
        if tag == 17:
            value = string(value[:1024]) or None
        elif tag == 18:
            value = strings(value[:512])
        line[SPAWN_KEYS[tag]] = hex(value) if tag == 8 else value
    return line


def modules_line(payload, header):  # 8.5
    data, end, modules = Bytes(payload), 0, []
    for _ in range(data.varint()):
        start, size, offset, length = (data.varint() for _ in range(4))
        start = (end + start) & MASK
        end = start + size
        path = data.take(length)
        if end > MASK:
            raise Malformed("mapping beyond the last address")
        modules.append((start, {"start": hex(start), "size": size, "offset": offset,
                                "path": text(path.split(b"\0")[0])}))
    modules = [module for _, module in sorted(modules, key=lambda pair: pair[0])]
    return {"process": header["process"], "record": "modules", "modules": modules}


# The file: sections 3, 4 and 10

def block_header(data, at):
    """What the block header at an offset says, None if there is no valid one."""
    if len(data) - at < 64 or data[at:at + 4] != b"MSBk":
        return None
    values = struct.unpack_from("<BBHIIQIII", data, at + 4)
    names = "type flags header_size process thread sequence stored_size raw_size events".split()
    header = dict(zip(names, values), at=at)
    header["end"] = at + header["header_size"] + header["stored_size"]
    crc, = struct.unpack_from("<I", data, at + 60)
    return header if crc == zlib.crc32(data[at:at + 60]) and header["header_size"] >= 64 else None


def blocks(data, at, complain):
    """The headers of all blocks in the order of the file."""
    damage = None
    while at < len(data):
        header = block_header(data, at)
        whole = header and header["end"] <= len(data)
        if whole and damage is not None:
            complain(f"nothing valid from {damage} to {at}")
            damage = None
        if whole or header and header["type"] == LIVE:  # 10.5: a live block may be cut
            yield header
        if whole:
            at = (header["end"] + 63) & ~63
            continue
        if damage is None and any(data[at:at + 64]):
            damage = at
        at += 64
    if damage is not None:
        complain(f"nothing valid from {damage} to the end")


def payload_of(data, header):
    stored = data[header["at"] + header["header_size"]:header["end"]]
    if header["flags"] & RAW:
        crc, = struct.unpack_from("<I", data, header["at"] + 56)
        if header["raw_size"] != len(stored) or crc != zlib.crc32(stored):
            raise Malformed("raw payload")
        return stored
    try:
        frame = zstandard.get_frame_parameters(stored)
        if frame.content_size != header["raw_size"] or frame.content_size > 4 << 20:
            raise Malformed("raw_size")
        if not frame.has_checksum or frame.dict_id:
            raise Malformed("kind of frame")
        stream = zstandard.ZstdDecompressor().decompressobj()
        raw = stream.decompress(stored)
        if not stream.eof or stream.unused_data or len(raw) != header["raw_size"]:
            raise Malformed("size of the frame")
        return raw
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error


def read(data, complain):
    """All lines of a trace."""
    if len(data) < 336 or data[:8] != b"memspy\x1a\n" or zlib.crc32(data[:92]) != \
            struct.unpack_from("<I", data, 92)[0]:
        raise SystemExit("not a trace")
    major, _, first, _, unknown, _, _, align, size, _, shift = struct.unpack_from(
        "<HHIQQ8s8sIIII", data, 8)
    if major != 1 or unknown or first % 64 or first < 336 or shift >= 32 or align < 64 or \
            align & (align - 1) or size % 64 or size < 320:
        raise SystemExit("a trace of another version")
    found = list(blocks(data, first, complain))

    def key(header):
        if header["type"] != LIVE:
            return header["process"], header["thread"], header["sequence"]
        if len(data) < header["at"] + 96:
            return 0, 0, 0
        thread, process, sequence = struct.unpack_from("<IIQ", data, header["at"] + 64)
        return process, thread, sequence

    whole = {}  # the first intact EVENTS block of those keys that occur more than once
    keys = [key(header) for header in found if header["type"] in (EVENTS, LIVE)]
    twice = {one for one, other in zip(sorted(keys), sorted(keys)[1:]) if one == other}
    for header in found:
        if header["type"] == EVENTS and key(header) in twice:
            try:
                sealed(payload_of(data, header), header)
                whole.setdefault(key(header), header["at"])
            except Malformed:
                pass  # said below
    lines = {PROCESS: process_line, END: end_line, MODULES: modules_line, SPAWN: spawn_line}
    for header in found:
        owner = key(header)
        kept = whole.get(owner, header["at"]) == header["at"]
        try:
            if header["type"] == LIVE and kept and (owner[0] or owner[1]):
                for event in live(data[header["at"]:header["end"]]):
                    yield event_line(owner, event)
            elif header["type"] == EVENTS and kept:
                for event in sealed(payload_of(data, header), header):
                    yield event_line(owner, event)
            elif header["type"] in lines:
                yield lines[header["type"]](payload_of(data, header), header)
        except Malformed as error:
            complain(f"block at {header['at']}: {error}")


def main():
    complaints = []
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        for line in read(data, complaints.append):
            print(json.dumps(line))
    except SystemExit as error:
        print(f"read.py: {sys.argv[1]}: {error}", file=sys.stderr)
        return 3
    for complaint in complaints:
        print(f"read.py: {sys.argv[1]}: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
