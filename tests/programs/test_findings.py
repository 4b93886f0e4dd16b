# SPDX-License-Identifier: MIT
"""Each finding: a program that has it and one that must not."""
from harness import *


def finding(name, severity_of=None):
    path = program("finding_" + name.replace("-", "_"))
    for how in ("bad", "good"):
        spied = traced([path, how])
        equal(spied.status, 0, f"{how}: exit status")
        check(spied.trace)
        found = report(spied.trace)["findings"]
        ids = [f["id"] for f in found]
        if how == "bad":
            expect(name in ids, f"{name} not found, only {ids}")
            for f in found:
                for key in ("severity", "title", "evidence", "advice", "saving_ns"):
                    expect(key in f, f"finding {f['id']} has no {key}")
        else:
            expect(name not in ids, f"{name} found in the good program: {found}")
        os.unlink(spied.trace)


def test_mmap_churn():
    finding("mmap-churn")


def test_brk_churn():
    finding("brk-churn")


def test_heap_growth():
    finding("heap-growth")


def test_calloc_fresh():
    finding("calloc-fresh")


def test_hot_temporary():
    finding("hot-temporary")


if __name__ == "__main__":
    main(globals())
