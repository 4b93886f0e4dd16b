# SPDX-License-Identifier: MIT
"""Real programs behave as they do without memspy, and their traces are whole."""
from workloads import *


def same(name, **env):
    w = WORKLOADS[name]
    w.prepare()
    results = []
    for trace in (None, "t.mspy"):
        full = dict(FIXED, **env if trace else {})
        results.append(run(w.cmd, trace, env=full, input=w.input))
        if w.makes:
            with open(w.makes, "rb") as f:
                results[-1].out += f.read()
            os.unlink(w.makes)
    same_results(*results, name)
    need(os.path.exists("t.mspy"), f"{name}: no trace")
    check("t.mspy")
    found = report("t.mspy")
    expect(found["trace"]["events"] >= w.least, f"{name}: only {found['trace']['events']} events")
    equal(found["trace"]["lost"], 0, f"{name}: lost events")
    expect(len(found["processes"]) >= w.processes, f"{name}: {len(found['processes'])} processes")
    counted = sum(found["calls"].get(k, 0) for k in ALLOCS + FREES)
    paths = sum(p["calls"] for side in ("alloc", "free") for p in found[side].values())
    expect(counted >= paths > w.least / 2, f"{name}: {counted} calls, {paths} on paths")
    os.unlink("t.mspy")


for _name in WORKLOADS:
    globals()["test_" + _name] = lambda name=_name: same(name)
    globals()["test_" + _name + "_exact"] = lambda name=_name: same(name, MEMSPY_KERNEL="exact")


if __name__ == "__main__":
    main(globals())
