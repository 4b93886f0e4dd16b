# SPDX-License-Identifier: MIT
"""The ways the bench runs a command: bare, and under each of the tools that are there."""

import glob
import json
import os
import shutil
import statistics
import subprocess
import time


class Tool:
    """One way to run a command. `wrap` gives the command line and what it adds to the environment."""

    def __init__(self, name, wrap):
        self.name = name
        self.wrap = wrap

    def run(self, argv, directory, stdin=None, env=None):
        """Runs argv in the directory, which receives what the tool writes. Returns wall seconds and
        standard output; the process must succeed."""
        command, extra = self.wrap(argv)
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        start = time.monotonic()
        done = subprocess.run(command, stdin=source, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=directory,
                              env={**os.environ, **(env or {}), **extra}, check=False)
        seconds = time.monotonic() - start
        if stdin:
            source.close()
        if done.returncode:
            raise SystemExit(f"bench: {self.name}: {' '.join(argv)[:200]}: status "
                             f"{done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
        return seconds, done.stdout.decode(errors="replace")


def preload(library, **env):
    """A wrap that preloads the library."""
    return lambda argv: (argv, {"LD_PRELOAD": library, **env})


def memusage_library():
    """The library of Debian's memusage, wherever this machine keeps it; None without."""
    for pattern in ("/lib/*-linux-gnu/libmemusage.so", "/usr/lib/*-linux-gnu/libmemusage.so",
                    "/lib64/libmemusage.so", "/usr/lib64/libmemusage.so"):
        # The cross libraries of other machines lie elsewhere (/usr/MACHINE-linux-gnu/lib).
        for path in glob.glob(pattern):
            if os.uname().machine in path or "lib64" in path:
                return path
    return None


def tools(build, wanted=None):
    """Every tool that can run here, bare first; says which cannot. memspy writes trace.mspy, and
    heaptrack heaptrack.*, in the directory of the run."""
    build = os.path.abspath(build)
    found = [Tool("bare", lambda argv: (argv, {})),
             Tool("preloaded", preload(f"{build}/tests/bench/libpreloaded.so")),
             Tool("forward", preload(f"{build}/tests/bench/libforward.so"))]
    memusage = memusage_library()
    if memusage:
        found.append(Tool("memusage", preload(memusage)))
    else:
        print("bench: libmemusage.so is not here")
    if shutil.which("heaptrack"):
        found.append(Tool("heaptrack", lambda argv: (["heaptrack", "-o", "heaptrack", *argv], {})))
    else:
        print("bench: heaptrack is not here")
    found.append(Tool("memspy", preload(f"{build}/libmemspy.so", MEMSPY_OUT="trace.mspy")))
    return [t for t in found if not wanted or t.name in wanted or t.name == "bare"]


def clean(directory):
    """Empties the directory of a run, whose traces would otherwise be in the next one's way."""
    for name in os.listdir(directory):
        os.unlink(os.path.join(directory, name))


def bytes_of(paths):
    """Bytes the files take on disk, and their sizes."""
    stats = [os.stat(path) for path in paths]
    return sum(s.st_blocks * 512 for s in stats), sum(s.st_size for s in stats)


def report(build, trace):
    """The object of memspy report --json, with what making it took: seconds and peak KiB."""
    command = [f"{build}/memspy", "report", "--json", trace]
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    if child.returncode:
        raise SystemExit(f"bench: {' '.join(command)}: status {child.returncode}")
    return json.loads(text), seconds, usage.ru_maxrss


def middle(values, digits=1):
    """The median of the values and their spread, as text: "12.3 [11.9 13.0]"."""
    return " [".join([f"{statistics.median(values):.{digits}f}",
                      f"{min(values):.{digits}f} {max(values):.{digits}f}]"])


def table(title, heads, rows):
    """Prints a table of texts, the first column to the left."""
    print(f"\n{title}")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
