# SPDX-License-Identifier: MIT
"""What memspy and its peers cost real programs. See real.sh.

usage: real.py BUILD [--rounds N] [--scale FACTOR] [--only TOOL]..."""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile

import tools

SQL = """
create table t(id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
insert into t select i, 'name' || (i * 7919 % 10007), i * 0.5 from n;
create index by_name on t(name);
select count(*), sum(length(s)) from
    (select group_concat(id || ':' || value) as s from t group by name);
"""

PYTHON = """
import json
rows = [{{"id": i, "name": "name%d" % i, "tags": [str(i * j) for j in range(8)]}}
        for i in range({rows})]
text = json.dumps(rows)
print(len(json.loads(text)), len({{row["name"][::-1]: row for row in rows}}))
"""

PERL = """
my %h;
for my $i (1 .. {rows}) {{
    push @{{$h{{$i * 7919 % 10007}}}}, {{ id => $i, name => "name$i" }};
}}
my $n = 0;
for my $k (sort keys %h) {{ $n += length join ",", map {{ $_->{{name}} }} @{{$h{{$k}}}}; }}
print "$n\\n";
"""


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def make_json(inputs, scale):
    generator = random.Random(1)
    rows = [{"id": i, "group": generator.randrange(500), "text": "x" * generator.randrange(40)}
            for i in range(int(60000 * scale) + 10)]
    return write(f"{inputs}/rows.json", json.dumps(rows))


def make_text(inputs, scale):
    generator = random.Random(2)
    words = ["word%d" % (generator.randrange(3000)) for _ in range(int(1200000 * scale) + 100)]
    return write(f"{inputs}/words.txt", " ".join(words))


def make_c(inputs, scale):
    functions = [f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) "
                 f"{{ if (a[i] > {i}) s += a[i] * {i + 1}; else s ^= a[n - i - 1]; }} return s; }}\n"
                 for i in range(int(300 * scale) + 5)]
    return write(f"{inputs}/functions.c", "".join(functions))


def make_repository(inputs, scale):
    """A repository whose commits each change some lines of some files."""
    generator = random.Random(3)
    files = [[f"line {i} of file {f}" for i in range(400)] for f in range(20)]
    stream = []
    for commit in range(int(1500 * scale) + 5):
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {commit + 1} +0000\n"
                      "data 1\nc\n")
        for number in generator.sample(range(20), 3):
            for _ in range(5):
                files[number][generator.randrange(400)] = f"line changed by {commit}"
            text = "\n".join(files[number]) + "\n"
            stream.append(f"M 100644 inline file{number}\ndata {len(text)}\n{text}\n")
    path = f"{inputs}/repository"
    subprocess.run(["git", "init", "-q", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="".join(stream).encode(),
                   check=True)
    return path


def programs(inputs, scale):
    """Label, argv, file for standard input, and additions to the environment of each program."""
    sql = write(f"{inputs}/rows.sql", SQL.format(rows=int(400000 * scale) + 10))
    python = write(f"{inputs}/rows.py", PYTHON.format(rows=int(60000 * scale) + 10))
    perl = write(f"{inputs}/rows.pl", PERL.format(rows=int(500000 * scale) + 10))
    rows = make_json(inputs, scale)
    found = [
        ("sqlite3", ["sqlite3", ":memory:"], sql, {}),
        ("python3, PYTHONMALLOC=malloc", ["python3", python], None, {"PYTHONMALLOC": "malloc"}),
        ("git log -p", ["git", "-C", make_repository(inputs, scale), "log", "-p", "main"], None,
         {"GIT_PAGER": "cat"}),
        ("jq", ["jq", "-c", "group_by(.group) | map({g: .[0].group, n: length})", rows], None, {}),
        ("perl", ["perl", perl], None, {}),
        ("xz", ["xz", "-T1", "-3", "-k", "-c", make_text(inputs, scale)], None, {}),
        ("gcc", ["gcc", "-O2", "-c", make_c(inputs, scale), "-o", "functions.o"], None, {}),
    ]
    for label, argv, _, _ in found:
        if not shutil.which(argv[0]):
            print(f"bench: {argv[0]} is not here: no {label}")
    return [program for program in found if shutil.which(program[1][0])]


def measure(options, program, directory, ways):
    """One row: bare seconds, memspy's events and bytes, and the ratios of the tools."""
    label, argv, stdin, env = program
    seconds = {tool.name: [] for tool in ways}
    events = per_event = "-"
    for _ in range(options.rounds):
        output = None
        for tool in ways:
            tools.clean(directory)
            spent, text = tool.run(argv, directory, stdin, env)
            seconds[tool.name].append(spent)
            # The tools write about themselves; a preload must leave the program's output alone.
            output = text if output is None else output
            if tool.name != "heaptrack" and text != output:
                raise SystemExit(f"bench: {tool.name} changed the output of {label}")
    if ways[-1].name == "memspy":
        trace = f"{directory}/trace.mspy"
        count = tools.report(options.build, trace)[0]["trace"]["events"]
        events = str(count)
        per_event = f"{tools.bytes_of([trace])[0] / max(count, 1):.2f}"
    row = [label, f"{statistics.median(seconds['bare']):.3f}", events, per_event]
    for tool in ways[1:]:
        row.append(tools.middle([a / b for a, b in zip(seconds[tool.name], seconds["bare"])], 2))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", action="append", help="a tool (bare is always there)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    base = tempfile.mkdtemp(prefix="bench-", dir=options.build)
    try:
        inputs, directory = f"{base}/inputs", f"{base}/run"
        os.mkdir(inputs)
        os.mkdir(directory)
        ways = tools.tools(options.build, options.only)
        rows = [measure(options, program, directory, ways)
                for program in programs(inputs, options.scale)]
        heads = ["", "bare s", "memspy events", "bytes/event", *[tool.name for tool in ways[1:]]]
        tools.table(f"wall time, ratio to the bare run, median [min max] of {options.rounds} rounds",
                    heads, rows)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
