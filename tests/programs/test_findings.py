# SPDX-License-Identifier: MIT
"""Each finding: a program that has it and one that must not."""
from harness import *


def finding(name, cmd=None):
    """Found in the bad program, whose command line is cmd with "bad", and not in the good one."""
    cmd = cmd or [program("finding_" + name.replace("-", "_")), "bad"]
    for how in ("bad", "good"):
        spied = traced([how if word == "bad" else word for word in cmd])
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


def spawn_finding(name):
    finding(name, [program("finding_spawns"), name, "bad", program("nothing"), PROGRAMS])


def test_fork_to_exec():
    spawn_finding("fork-to-exec")


def test_fork_late():
    spawn_finding("fork-late")


def test_path_search():
    spawn_finding("path-search")


def test_spawn_storm():
    spawn_finding("spawn-storm")


def test_fork_gap():
    spawn_finding("fork-gap")


def test_idle_child():
    spawn_finding("idle-child")


if __name__ == "__main__":
    main(globals())
