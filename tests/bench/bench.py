# SPDX-License-Identifier: MIT
"""What memspy and its peers cost, side by side. See run.sh.

usage: bench.py BUILD [--rounds N] [--pairs N] [--runs N] [--spawns N] [--only NAME]..."""

import argparse
import os
import re
import shutil
import statistics
import tempfile

import tools

# The loops of bench_pairs: label, arguments, and what part of --pairs a run makes.
LOOPS = [
    ("malloc(32)", ["malloc32"], 1),
    ("malloc(512)", ["malloc512"], 1),
    ("malloc(1 MiB) kept", ["kept"], 1),
    ("malloc(1 MiB) mmap", ["mmap"], 0.02),
    ("churn, 1 thread", ["churn", "--threads", "1"], 1),
    ("churn, 2 threads", ["churn", "--threads", "2"], 1),
    ("churn, 8 threads", ["churn", "--threads", "8"], 1),
]

# The ways to make a child.
SPAWNS = [
    ("fork", "fork"),
    ("fork and exec of /bin/true", "fork_exec"),
    ("vfork and exec of /bin/true", "vfork_exec"),
    ("posix_spawn of /bin/true", "posix_spawn"),
]


class Bench:
    """One bench of one build; its runs happen in a directory that is emptied before each."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.tools = tools.tools(options.build, options.only)
        self.program = f"{options.build}/tests/bench/bench_pairs"

    def run(self, tool, arguments):
        """The median figure of a run of bench_pairs, in ns."""
        tools.clean(self.directory)
        _, out = tool.run([self.program, *arguments], self.directory)
        found = re.search(r"median=([0-9.]+)", out)
        if not found:
            raise SystemExit(f"bench: {tool.name}: no figure in {out!r}")
        return float(found.group(1))

    def loop(self, arguments, part):
        """Arguments of a loop with its counts."""
        pairs = max(8, int(self.options.pairs * part))
        return [*arguments, "--pairs", str(pairs), "--runs", str(self.options.runs)]

    def pairs(self):
        """Added ns per pair: the rounds of all tools are interleaved, and each figure is compared
        with the bare one of its own round."""
        rows = []
        for label, arguments, part in LOOPS:
            bare = []
            added = {tool.name: [] for tool in self.tools[1:]}
            for _ in range(self.options.rounds):
                bare.append(self.run(self.tools[0], self.loop(arguments, part)))
                for tool in self.tools[1:]:
                    added[tool.name].append(self.run(tool, self.loop(arguments, part)) - bare[-1])
            row = [label, tools.middle(bare)]
            # No ratio where memusage's own cost is lost in the noise.
            unit = statistics.median(added["memusage"]) if added.get("memusage") else 0
            if unit and min(added["memusage"]) <= 0:
                unit = 0
            for values in added.values():
                ratio = statistics.median(values) / unit if unit > 0 else 0
                row.append(f"{tools.middle(values)} {ratio:5.2f}x" if ratio else
                           tools.middle(values))
            rows.append(row)
        names = [tool.name for tool in self.tools[1:]]
        tools.table(f"added ns per malloc+free pair, median [min max] of {self.options.rounds} "
                    "rounds, ratio to memusage", ["", "bare", *names], rows)

    def trace_bytes(self):
        """Bytes of trace per event. heaptrack's events are taken to be as many as memspy's."""
        rows = []
        for label, arguments, part in LOOPS:
            tool = self.tools[-1]
            self.run(tool, self.loop(arguments, part))
            trace = f"{self.directory}/trace.mspy"
            disk, size = tools.bytes_of([trace])
            events = tools.report(self.options.build, trace)[0]["trace"]["events"]
            row = [label, str(events), f"{disk / events:.2f}", f"{size / events:.2f}"]
            for other in self.tools:
                if other.name == "heaptrack":
                    self.run(other, self.loop(arguments, part))
                    paths = [f"{self.directory}/{n}" for n in os.listdir(self.directory)]
                    row.append(f"{tools.bytes_of(paths)[0] / events:.3f}")
            rows.append(row)
        heads = ["", "events", "memspy, on disk", "memspy, st_size", "heaptrack"]
        tools.table("bytes of trace per event", heads[:len(rows[0])], rows)

    def spawns(self):
        """A child by each way against a bare one and one under a library that does nothing: the rounds
        of all tools are interleaved, and each figure is compared with those of its own round."""
        for label, loop in SPAWNS:
            times = {tool.name: [] for tool in self.tools}
            arguments = [loop, "--pairs", str(self.options.spawns), "--runs", "3"]
            for _ in range(self.options.rounds):
                for tool in self.tools:
                    times[tool.name].append(self.run(tool, arguments) / 1e3)
            self.ratios(f"{label}, us a child", times)
        starts = {tool.name: [] for tool in self.tools}
        for _ in range(4 * self.options.rounds):
            for tool in self.tools:
                tools.clean(self.directory)
                starts[tool.name].append(tool.run(["/bin/true"], self.directory)[0] * 1e3)
        self.ratios("running /bin/true, ms", starts)

    def ratios(self, title, times):
        """Prints the figures of each tool, and what they are to the bare ones and to those of loading a
        library that does nothing."""
        rows = []
        for tool in self.tools:
            row = [tool.name, tools.middle(times[tool.name])]
            for other in ("bare", "preloaded"):
                known = other in times
                row.append(tools.middle([a / b for a, b in zip(times[tool.name], times[other])], 2)
                           if known else "")
            rows.append(row)
        tools.table(title, ["", "median", "ratio to bare", "ratio to preloaded"], rows)

    def analyzer(self):
        """Speed and memory of the report, on a churn and on one four times as long."""
        rows = []
        for factor in (1, 4):
            tool = self.tools[-1]
            self.run(tool, self.loop(["churn"], factor))
            trace = f"{self.directory}/trace.mspy"
            result = [tools.report(self.options.build, trace) for _ in range(3)]
            events = result[0][0]["trace"]["events"]
            seconds = [seconds for _, seconds, _ in result]
            peak = max(kib for _, _, kib in result)
            rows.append([f"churn x {factor}", str(events), tools.middle(seconds, 2),
                         f"{events / statistics.median(seconds) / 1e6:.2f}", f"{peak / 1024:.1f}"])
        tools.table("memspy report --json",
                    ["", "events", "seconds", "M events/s", "peak MiB"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=300000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--spawns", type=int, default=100)
    parser.add_argument("--only", action="append", help="a tool (bare is always there)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    # On the disk of the build: /tmp may be memory.
    directory = tempfile.mkdtemp(prefix="bench-", dir=options.build)
    try:
        bench = Bench(options, directory)
        bench.pairs()
        if bench.tools[-1].name == "memspy":
            bench.trace_bytes()
        bench.spawns()
        if bench.tools[-1].name == "memspy":
            bench.analyzer()
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
