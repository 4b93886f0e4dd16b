# SPDX-License-Identifier: MIT
"""Other allocators, preloaded after the shim: named, paths unknown, and known in exact mode."""
import glob

from workloads import *


def allocator(name):
    found = sorted(glob.glob(f"/usr/lib/*/lib{name}.so.[0-9]"))
    if not found:
        raise Skip(f"no lib{name} here")
    lib, cmd = found[0], [program("mix"), "7", "1", "30000"]
    plain = run(cmd, preload=[lib])
    for env in ({}, {"MEMSPY_KERNEL": "exact"}):
        spied = traced(cmd, preload=[SHIM, lib], env=env)
        same_results(plain, spied, f"{name} {env}")
        check(spied.trace)
        judge(report(spied.trace), name, env)
        os.unlink(spied.trace)
    w = WORKLOADS["sqlite3"]
    w.prepare()
    plain = run(w.cmd, preload=[lib], input=w.input)
    spied = traced(w.cmd, preload=[SHIM, lib], input=w.input)
    same_results(plain, spied, f"sqlite3 on {name}")


def judge(found, name, env):
    equal([name.split("_")[0] in p["allocator"] for p in found["processes"]], [True],
          f"allocator named: {[p['allocator'] for p in found['processes']]}")
    calls = {k: v["calls"] for k, v in found["alloc"].items() if v["calls"]}
    expect(sum(calls.values()) > 20000, f"{name}: {calls}")
    if env:
        expect(calls.get("unknown", 0) < 0.01 * sum(calls.values()), f"{name}, exact: {calls}")
        expect(calls.get("mmap", 0) + calls.get("brk", 0) > 0, f"{name}, exact: {calls}")
    else:
        equal(set(calls), {"unknown"}, f"{name}: paths")


def test_jemalloc():
    allocator("jemalloc")


def test_tcmalloc():
    allocator("tcmalloc_minimal")


def test_mimalloc():
    allocator("mimalloc")


if __name__ == "__main__":
    main(globals())
