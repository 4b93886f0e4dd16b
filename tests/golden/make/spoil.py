# SPDX-License-Identifier: MIT
"""Makes the traces of bad/ from a good one that has sealed blocks and a live one.

usage: spoil.py TRACE DIRECTORY
"""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import read  # noqa: E402


def patched(data, at, new):
    return data[:at] + new + data[at + len(new):]


def header(data, at, new):
    """The file's header changed, and its CRC made right."""
    data = patched(data, at, new)
    return patched(data, 92, struct.pack("<I", zlib.crc32(data[:92])))


def main():
    with open(sys.argv[1], "rb") as file:
        good = file.read()
    blocks = list(read.blocks(good, 4096, None))
    sealed = [block for block in blocks if block["type"] == read.EVENTS]
    live = next(block for block in blocks if block["type"] == read.LIVE)
    first = sealed[0]
    middle = (first["at"] + first["end"]) // 2
    bad = {
        # In the middle of the first sealed block: that is gone, the live block is whole.
        "cut": good[:middle],
        # In the slots of the live block: the ones before that count.
        "cut_live": good[:live["at"] + 40000],
        # One byte of the compressed payload, of the header of a block, of the file's header.
        "flipped": patched(good, middle, bytes([good[middle] ^ 1])),
        "flipped_block": patched(good, first["at"] + 24, bytes([good[first["at"] + 24] ^ 1])),
        "flipped_header": patched(good, 40, bytes([good[40] ^ 1])),
        # A sealed block that was never written: a gap, and a buffer that is missing.
        "gap": patched(good, first["at"], bytes(first["end"] - first["at"])),
        # Killed after sealing, before the live block went on: its slots are in the sealed block.
        "stale": patched(good, live["at"] + 72, struct.pack("<Q", first["sequence"])),
        # The same, but the sealed block is not whole: the slots of the live one count.
        "stale_needed": patched(patched(good, middle, bytes([good[middle] ^ 1])),
                                live["at"] + 72, struct.pack("<Q", first["sequence"])),
        # A block twice: the second copy does not count.
        "twice": good + bytes(-len(good) % 64) + good[first["at"]:first["end"]],
        "major": header(good, 8, struct.pack("<H", 2))[:8192],
        "minor": header(good, 10, struct.pack("<H", 7)),
        "incompatible": header(good, 24, struct.pack("<Q", 1 << 5))[:8192],
        "compatible": header(good, 16, struct.pack("<Q", 1 << 5)),
        "zeros": bytes(8192),
        "empty": b"",
        "header_only": good[:4096],
        "not_a_trace": b"This is a text, not a trace.\n" * 20,
    }
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, data in bad.items():
        with open(os.path.join(sys.argv[2], name + ".mspy"), "wb") as file:
            file.write(data)


main()
