# SPDX-License-Identifier: MIT
"""Real programs with something to do, and where harness.py is."""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from harness import *  # noqa: E402,F401,F403
from harness import clean_env, have  # noqa: E402

FIXED = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "HOME": "/nonexistent", "GIT_PAGER": "cat",
         "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"}


class Workload:
    """cmd, run in a directory prepared by prepare(); `least` events must be found; `makes` is a
    file that must come out the same; `processes` at least."""

    def __init__(self, cmd, least, prepare=None, input=None, makes=None, processes=1):
        self.cmd, self.least, self.input = cmd, least, input
        self.makes, self.processes, self._prepare = makes, processes, prepare

    def prepare(self):
        have(self.cmd[0])
        if self._prepare:
            self._prepare()


PYTHON = r"""
import json, re, random
random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "tags": [random.random() for _ in range(20)]} for i in range(2000)]
text = json.dumps(rows)
back = json.loads(text)
words = re.findall(r"[a-z]+\d+", text) + re.split(r"[,:{}\[\] ]+", text)
big = [bytes(random.randrange(600, 90000)) for _ in range(3000)]
print(len(text), len(back), len(words), sum(map(len, big)), sorted(set(words))[:5])
"""

PERL = r"""
my %h; my $s = 1;
for my $i (1 .. 60000) { $s = ($s * 1103515245 + 12345) % 2147483648;
  push @{$h{$s % 997}}, "v$i" . ("x" x ($s % 60)); }
my $n = 0; for my $k (sort { $a <=> $b } keys %h) { $n += length(join(",", @{$h{$k}})); }
(my $t = join(" ", map { "w$_" } 1 .. 20000)) =~ s/w(\d+)/<$1>/g;
print scalar(keys %h), " $n ", length($t), "\n"; warn "to stderr\n"; exit 3;
"""

BASH = r"""
count=0
for i in $(seq 1 200); do word="w$i-$((i * i % 97))"; list+=("$word"); count=$((count + ${#word})); done
printf '%s\n' "${list[@]}" | sort | uniq -c | grep -c w | tr '0-9' 'a-j'
echo "$count ${list[*]:5:9}" | sed 's/w/W/g' | cat
for i in 1 2 3 4 5; do (echo "sub $i" | cat); done
ls /nonexistent-dir
exit 5
"""

SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO t SELECT i, 'text ' || (i * 7919 % 10007), i * 0.5 FROM n;
CREATE INDEX ta ON t(a);
SELECT a, count(*), sum(b) FROM t GROUP BY a ORDER BY a LIMIT 20;
SELECT count(*) FROM t x JOIN t y ON x.id = y.id + 1 WHERE x.a LIKE '%99';
DELETE FROM t WHERE id % 3 = 0;
SELECT count(*), group_concat(id) FROM t WHERE id < 500;
SELECT * FROM missing;
"""


def make_repository():
    env = clean_env(FIXED)
    for who in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@b", f"GIT_{who}_DATE": "@0 +0000"})
    subprocess.run(["git", "init", "-q", "repo"], env=env, check=True)
    rng, lines = random.Random(3), [f"line {i}" for i in range(300)]
    for commit in range(60):
        for _ in range(8):
            lines[rng.randrange(len(lines))] = f"line changed by {commit} {rng.random()}"
        with open("repo/file.txt", "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run("git -C repo add . && git -C repo commit -qm c", shell=True, env=env, check=True)


def make_source(functions=700):
    with open("big.c", "w") as f:
        f.write("struct s { int a, b[10]; };\n")
        for i in range(functions):
            f.write(f"int f{i}(struct s *p, int n)\n{{\n    int r = {i};\n"
                    f"    for (int i = 0; i < n; i++)\n"
                    f"        r += p[i].b[(i + {i}) % 10] * (r >> {i % 13});\n"
                    f"    return r + p->a;\n}}\n")


def make_text():
    rng = random.Random(4)
    with open("text", "w") as f:
        for i in range(60000):
            f.write(f"{i} {rng.randrange(1000)} some words that repeat\n")


def make_json():
    rng = random.Random(5)
    with open("data.json", "w") as f:
        for i in range(6000):
            f.write('{"id": %d, "name": "n%d", "xs": [%d, %d, 3], "ok": true}\n'
                    % (i, rng.randrange(999), i % 7, i % 13))


WORKLOADS = {
    "python3": Workload(["/usr/bin/python3", "-c", PYTHON], 20000),
    "git": Workload(["git", "-C", "repo", "--no-pager", "log", "-p"], 2000, make_repository),
    "gcc": Workload(["gcc", "-O2", "-c", "big.c", "-o", "big.o"], 20000, make_source, makes="big.o",
                    processes=3),
    "sqlite3": Workload(["sqlite3", ":memory:"], 20000, input=SQL.encode()),
    "perl": Workload(["perl", "-e", PERL], 20000),
    "bash": Workload(["bash", "-c", BASH], 2000, processes=10),
    "xz": Workload(["xz", "-3", "-c", "text"], 10, make_text),
    "jq": Workload(["jq", "-s", "map(select(.ok)) | group_by(.name) | map({n: .[0].name, c: length})",
                    "data.json"], 20000, make_json),
}
