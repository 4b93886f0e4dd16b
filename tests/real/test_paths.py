# SPDX-License-Identifier: MIT
"""The structural path of each call against what exact mode saw the kernel asked for in it.

In exact mode each system call of the allocator is an event just before the call's own event, in the
same thread; the call's path is still found structurally. So one trace holds both answers.
"""
from workloads import *

NR = {9: "mmap", 10: "mprotect", 11: "munmap", 12: "brk", 25: "mremap", 28: "madvise"}
HEAP = 64 << 20  # glibc's HEAP_MAX_SIZE; with hugetlb tunables a heap is larger
EXACT = {"MEMSPY_KERNEL": "exact"}


class Oracle:
    """Follows the kernel events of one trace and says which paths fit a call."""

    def __init__(self):
        self.heaps = set()  # addresses of arena heaps, multiples of HEAP

    def in_heap(self, at):
        return at // HEAP * HEAP in self.heaps

    def kernel_class(self, e):
        """What one system call means: grow, shrink, map, unmap, move, heap, trim or none."""
        name, at, size = NR.get(e["nr"]), address(e["ptr"]), e["size"]
        if e.get("failed"):
            return "none"
        if name == "brk":
            return "shrink" if e.get("shrank") else "grow" if size else "none"
        if name == "mmap":
            # A heap is taken as address space of twice its size, to align it.
            if size == 2 * HEAP or (size == HEAP and at % HEAP == 0):
                self.heaps.add(-(-at // HEAP) * HEAP)
                return "heap"
            return "map"
        if name == "munmap":
            if at in self.heaps and size == HEAP:
                self.heaps.remove(at)
                return "trim"
            return "unmap"
        if name == "mprotect":
            return "heap" if self.in_heap(at) else "none"
        if name == "madvise":
            return "trim" if self.in_heap(at) else "none"
        return "move" if name == "mremap" else "none"

    def alloc_paths(self, did, shrank):
        if "move" in did:
            return {"mremap"}
        if "map" in did:
            return {"mmap"}
        if "grow" in did:
            return {"brk"}
        if "heap" in did:
            return {"heap"}
        if "shrink" in did or (shrank and "trim" in did):
            return {"brk", "heap"} if shrank else {"brk"}  # it gave memory back, and must say so
        return {"tcache", "arena"}

    def free_paths(self, did):
        if "unmap" in did:
            return {"munmap"}
        if "trim" in did or "shrink" in did:
            return {"trim"}
        return {"tcache", "arena"}


class Comparison:
    """Calls compared, agreements, disagreements (the first ones in full), totals per path."""

    def __init__(self, trace, events=None):
        self.calls = self.agree = self.kernel = 0
        self.wrong, self.structural, self.exact = [], collections.Counter(), collections.Counter()
        pending, oracles = collections.defaultdict(list), collections.defaultdict(Oracle)
        for e in events or dump_in_order(trace):
            if e["record"] != "event":
                continue
            key = e["process"], e["thread"]
            if e["kind"] == "kernel":
                self.kernel += 1
                pending[key].append((oracles[e["process"]].kernel_class(e), e))
            elif e["kind"] in ALLOCS or e["kind"] in FREES:
                self.judge(oracles[e["process"]], e, pending.pop(key, []))
            else:
                pending.pop(key, None)  # the program's own system call

    def judge(self, oracle, event, kernel):
        if event.get("failed"):
            return
        did = {what for what, _ in kernel}
        frees = event["kind"] in FREES or event.get("freed")
        allowed = oracle.free_paths(did) if frees else oracle.alloc_paths(did, event.get("shrank"))
        side = "free" if frees else "alloc"
        self.calls += 1
        self.structural[side, event["path"]] += 1
        self.exact[side, event["path"] if event["path"] in allowed else min(allowed)] += 1
        if event["path"] in allowed:
            self.agree += 1
        else:
            self.wrong.append(f"{event['kind']} path {event['path']}, kernel {sorted(did)}: {event} "
                              f"{[k for _, k in kernel][:4]}")

    def show(self, what):
        print(f"{what}: {self.agree} of {self.calls} agree, {self.kernel} system calls, "
              f"{dict(sorted(self.structural.items()))}")
        for text in self.wrong[:20]:
            print("   ", text)


def compare(cmd, what, input=None, env=None, least=1000, share=0.999, kernel=20):
    spied = traced(cmd, env=dict(FIXED, **EXACT, **env or {}), input=input)
    check(spied.trace)
    c = Comparison(spied.trace)
    c.show(what)
    expect(c.calls >= least, f"{what}: only {c.calls} calls compared")
    expect(c.kernel >= kernel, f"{what}: only {c.kernel} system calls seen")
    expect(c.agree >= share * c.calls, f"{what}: {c.calls - c.agree} of {c.calls} disagree")
    os.unlink(spied.trace)
    return c


def mix(seed, threads=1, operations=None, env=None, **kw):
    operations = operations or (200000 if LONG else 40000) // threads
    return compare([program("mix"), str(seed), str(threads), str(operations)],
                   f"mix {seed} {threads} {env or ''}", env=env, **kw)


def test_mix():
    for seed in range(1, 11 if LONG else 4):
        c = mix(seed)
        expect(len(c.structural) >= 8, f"few paths were taken: {c.structural}")


def test_mix_threads():
    """A growth may be charged to a neighbour thread's call; each is charged once all the same. Where
    threads share an arena, two changes of its size that one thread's look falls between can be taken
    for one, or one for two: a few of thousands, in some runs only."""
    for seed, env in ((1, None), (2, {"MALLOC_ARENA_MAX": "1"}), (3, {"MALLOC_ARENA_MAX": "3"})):
        for attempt in range(4):
            c = mix(seed, 8, env=env, share=0.99)
            off = {p: c.structural[p] - c.exact[p] for p in set(c.structural) | set(c.exact)
                   if c.structural[p] != c.exact[p]}
            print(f"{env}: off by {off}")
            expect(all(abs(n) <= 4 for n in off.values()), f"charged too often ({env}): {off}")
            if not off:
                break
        expect(not off, f"never charged exactly ({env}): {off}")


def test_mix_tunables():
    for tunable in ("glibc.malloc.tcache_count=0", "glibc.malloc.arena_max=1",
                    "glibc.malloc.mmap_threshold=4096", "glibc.malloc.hugetlb=1",
                    "glibc.malloc.trim_threshold=4096", "glibc.malloc.top_pad=4096",
                    "glibc.malloc.mmap_max=0"):
        mix(4, env={"GLIBC_TUNABLES": tunable})
    mix(5, env={"MALLOC_PERTURB_": "165"})
    mix(6, env={"MALLOC_ARENA_MAX": "1"})


def workload(name):
    w = WORKLOADS[name]
    w.prepare()
    if name == "gcc":
        make_source(40)  # it makes 10 000 events a function
    compare(w.cmd, name, w.input, least=w.least // 4, kernel=1)


def test_harness():
    """The comparison notices a call that is charged wrongly, and one that is not charged."""
    run([program("mix"), "1", "1", "4000"], "t.mspy", env=EXACT)
    right = Comparison("t.mspy")
    for change in (lambda e: e.update(path="arena") if e.get("path") == "brk" else None,
                   lambda e: e.update(path="mmap") if e.get("path") == "tcache" else None,
                   lambda e: e.update(path="arena") if e.get("path") == "munmap" else None):
        events = [dict(e) for e in dump_in_order("t.mspy")]
        for e in events:
            change(e)
        wrong = Comparison(None, events)
        expect(right.agree > wrong.agree, f"not noticed: {right.agree}, {wrong.agree}")


for _name in WORKLOADS:
    globals()["test_" + _name] = lambda name=_name: workload(name)


if __name__ == "__main__":
    main(globals())
