# SPDX-License-Identifier: MIT
"""The process trees of real programs against strace: python3's subprocess and its kin, make -j2 and
gcc -pipe of a source tree. Each process that strace sees is in the tree, made by what made it, and
what is built is the same to the byte."""
import hashlib

from workloads import *
from spawns import *

# The environment is the same for all: gcc's temporary files, the locale.
ENV = dict(FIXED, TMPDIR=".", PATH="/usr/local/bin:/usr/bin:/bin")


def make_tree(files=20):
    """A library and a program of `files` sources, with a makefile that runs tools of all kinds."""
    rng = random.Random(11)
    os.mkdir("src")
    for i in range(files):
        with open(f"src/part{i}.c", "w") as f:
            f.write('#include "parts.h"\n#include <stdio.h>\n#include <string.h>\n')
            for k in range(12):
                f.write(f"int part{i}_{k}(int x) {{ char b[{rng.randrange(16, 200)}]; "
                        f'snprintf(b, sizeof b, "%d {rng.random()}", x * {rng.randrange(99)}); '
                        f"return (int)strlen(b) + part{(i + 1) % files}(x - 1); }}\n")
            f.write(f"int part{i}(int x) {{ return x < 1 ? {i} : part{i}_{i % 12}(x); }}\n")
    with open("src/parts.h", "w") as f:
        f.writelines(f"int part{i}(int x);\n" for i in range(files))
    with open("src/main.c", "w") as f:
        f.write('#include "parts.h"\n#include <stdio.h>\n#include "version.h"\n'
                'int main(void) { printf("%s %d\\n", VERSION, part0(5)); return 0; }\n')
    with open("src/Makefile", "w") as f:
        f.write(MAKEFILE % " ".join(f"part{i}.o" for i in range(files)))


MAKEFILE = """
PARTS = %s
WHERE := $(shell basename $(CURDIR))
all: program sub
program: main.o libparts.a
	$(CC) $(CFLAGS) -o $@ main.o libparts.a
libparts.a: $(PARTS)
	rm -f $@; ar rcsD $@ $(PARTS)
%%.o: %%.c parts.h
	$(CC) $(CFLAGS) -c -o $@ $<
main.o: version.h
version.h:
	(echo '#define VERSION "'; echo $(WHERE) | tr a-z A-Z; echo '"') | tr -d '\\n' > $@
	@test -s $@ && ! grep -q nothing $@
sub: program
	$(MAKE) -f Makefile again
again:
	for i in 1 2 3; do ./program; done > out.txt
	-false
.PHONY: all sub again
"""


def products(directory):
    """{name: hash} of the files there."""
    found = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as f:
            found[name] = hashlib.sha256(f.read()).hexdigest()
    return found


def real_path(path):
    return os.path.realpath(path) if path.startswith("/") else None


def seen_by_strace(seen, first):
    """The initial pid and what happened after it became the program: strace's own start is not part
    of it."""
    start = next(i for i, e in enumerate(seen.execs) if not e[2] and os.path.basename(e[1]) == first)
    return seen.execs[start][0], seen.execs[start + 1:]


def judge_pids(seen, tree, first):
    """The same run: pid by pid."""
    initial, execs = seen_by_strace(seen, first)
    pids = {initial} | {child for _, child, _ in seen.made}
    equal({p["pid"] for p in tree.processes}, pids, "pids of the tree")
    parents = {child: parent for parent, child, _ in seen.made}
    hits = collections.Counter(pid for pid, _, error in execs if not error)
    paths = collections.defaultdict(list)
    for pid, path, error in execs:
        if not error:
            paths[pid].append(real_path(path))
    for pid in pids:
        images = tree.of(pid)
        if not images:
            continue
        way = next((w for _, child, w in seen.made if child == pid), None)
        origin = images[0]["origin"]
        wanted = ("initial",) if way is None else \
            ("fork", "clone") if way == "copy" else ("vfork", "posix_spawn")
        expect(origin in wanted, f"strace saw {way}, the tree has {short(images[0])}")
        # A copy is an image of its own; the others become one when they become a program.
        programs = len(images) - (way != "shared")
        begun = hits[pid] or (way == "shared" and len(images) == 1 and not images[0]["traced"])
        equal(programs, int(begun), f"programs of {pid}: {[short(p) for p in images]}")
        if pid in parents:
            equal(images[0]["ppid"], parents[pid], f"ppid of {pid}")
        for path, image in zip(paths[pid], images[way != "shared":]):
            if path and os.path.exists(path) and is_elf(path):
                equal(os.path.realpath(image["exe"]), path, f"program of {pid}")
        last = images[-1]
        if pid in seen.ended and last["end"] not in ("killed", "open"):
            equal(last["status"], abs(seen.ended[pid]), f"status of {short(last)}")
        expect(last["end"] not in ("killed", "open", "exec") or seen.ended.get(pid, 0) < 0,
               f"end of {short(last)}, strace {seen.ended.get(pid)}")


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def judge_numbers(seen, tree, first):
    """Another run without the shim: in number and kind."""
    _, execs = seen_by_strace(seen, first)
    ways = collections.Counter(way for _, _, way in seen.made)
    firsts = collections.Counter()
    for pid in {p["pid"] for p in tree.processes}:
        origin = tree.of(pid)[0]["origin"]
        firsts["copy" if origin in ("fork", "clone") else
               "shared" if origin in ("vfork", "posix_spawn") else "initial"] += 1
    equal(firsts, ways + collections.Counter(initial=1), "processes made")
    wanted = collections.Counter(real_path(p) for _, p, e in execs if not e)
    wanted = {p: n for p, n in wanted.items() if p and os.path.exists(p) and is_elf(p)}
    found = collections.Counter(os.path.realpath(p["exe"]) for p in tree.processes
                                if p["exe"] and p["origin"] in ("exec", "vfork", "posix_spawn"))
    for path, n in wanted.items():
        expect(found[path] >= n, f"{path}: {found[path]} in the tree, strace {n}")
    print(f"{first}: {len(tree.processes)} images, {len(tree.forks)} calls that made a child, "
          f"{len(tree.execs)} execs, {dict(ways)} by strace")


def three_runs(cmd, first, prepare, result, least):
    """Untraced under strace, traced, and both at once; what they make must be the same."""
    have(cmd[0])
    made = {}
    for name in ("plain", "spied", "both"):
        os.mkdir(name)
        os.chdir(name)
        prepare()
        if name == "spied":
            done = traced(cmd, env=ENV)
        else:
            done, seen = strace(cmd, "t.mspy" if name == "both" else None, env=ENV)
        made[name] = done.status, done.out, done.err, result()
        if name != "plain":
            check("t.mspy")
            tree = Tree("t.mspy")
            expect(len(tree.processes) >= least, f"{name}: {len(tree.processes)} processes")
            pids = {p["pid"] for p in tree.processes}
            expect(all(p["ppid"] in pids for p in tree.processes[1:]), f"{name}: a parent is missing")
            expect(not [p for p in tree.processes if not p["traced"] and p["end"] != "_exit"],
                   f"{name}: {[short(p) for p in tree.processes if not p['traced']][:3]}")
        if name == "plain":
            plain = seen
        elif name == "spied":
            judge_numbers(plain, tree, first)
        else:
            judge_pids(seen, tree, first)
        os.chdir("..")
    for name in ("spied", "both"):
        for i, what in enumerate(("status", "stdout", "stderr", "products")):
            equal(made[name][i], made["plain"][i], f"{name}: {what}")


def test_make():
    """make -j2 of 20 files and a program, with shells, pipes, ar and make in make."""
    three_runs(["make", "-s", "-j2", "-C", "src", "CC=gcc", "CFLAGS=-O1 -g0"], "make", make_tree,
               lambda: products("src"), 60)


def test_gcc_pipe():
    """gcc -pipe: cc1 and as at once, collect2 and ld."""
    def prepare():
        make_tree(4)
        with open("src/version.h", "w") as f:
            f.write('#define VERSION "1"\n')

    files = ["main.c"] + [f"part{i}.c" for i in range(4)]
    three_runs(["gcc", "-pipe", "-O1", "-save-temps=obj", "-o", "src/program"] +
               [f"src/{f}" for f in files], "gcc", prepare, lambda: products("src"), 10)


def test_bash():
    """A script with pipes, subshells and a status of its own."""
    three_runs(WORKLOADS["bash"].cmd, "bash", lambda: None, lambda: None, 20)


TOOLS = r"""
git init -q r
cd r
for i in 1 2 3 4; do echo $i > f$i; git add .; git -c user.name=a -c user.email=b commit -q -m c$i; done
git gc -q; git log --oneline | wc -l; git clone -q . ../r2
cd ..
seq 1 30 | xargs -P 4 -n 3 echo | sort
find r -maxdepth 1 -name 'f*' -exec md5sum {} \; | sort -k2
tar czf t.tgz r/f1 r/f2; tar tzf t.tgz
perl -e 'for (1..3) { my $p = fork; if (!$p) { exec "true" } waitpid $p, 0; print $?, "\n" }
  print `echo back`; open(P, "-|", "seq 3"); print while <P>; close P;
  system("false"); print $? >> 8, "\n"; exec {"sh"} "x", "-c", "echo perl"'
timeout 0.3 sleep 5; echo $?
nohup true 2>/dev/null; nice true; env -i PATH="$PATH" A=1 sh -c 'echo $A'
script -qc 'echo tty' /dev/null
(sleep 0.1 & wait)
awk 'BEGIN {"echo x" | getline y; system("echo awk"); print y | "cat"; close("cat")}'
cat <(echo one) <(seq 2)
coproc cat; echo coproc >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x; kill $COPROC_PID; wait 2>/dev/null
dash -c 'trap "echo trapped" TERM; kill $$; (kill -9 $(sh -c "echo \$PPID")); echo $?'
exit 6
"""


def test_tools():
    """git, xargs -P, find -exec, tar, perl, awk, script, coprocesses and signals, as scripts use them."""
    for name in ("git", "perl", "script", "dash"):
        have(name)

    def prepare():
        with open("tools.sh", "w") as f:
            f.write(TOOLS)

    three_runs(["bash", "tools.sh"], "bash", prepare, lambda: None, 80)


SUBPROCESS = r"""
import multiprocessing, os, subprocess, sys, threading, time
true = "/bin/true"
for i in range(5):
    subprocess.run([true], check=True)
    subprocess.run([true], close_fds=False, check=True)
    subprocess.run([true], preexec_fn=lambda: None, check=True)
print(subprocess.run(["cat"], input=b"words\n", stdout=subprocess.PIPE).stdout)
print(subprocess.check_output("echo one; echo two | tr o 0", shell=True))
try:
    subprocess.run(["/nonexistent/program"])
except FileNotFoundError as e:
    print(e.errno)
print(subprocess.run([sys.executable, "-S", "-c", "import os; os._exit(7)"]).returncode)
print(os.system("exit 3"), os.popen("echo popen").read())
pid = os.posix_spawn(true, [true], os.environ)
print(os.waitpid(pid, 0)[1])
pid = os.posix_spawnp("true", ["true"], os.environ)
print(os.waitpid(pid, 0)[1])
for call in (os.execv, os.execvp):
    pid = os.fork()
    if pid == 0:
        call(true if call is os.execv else "true", ["true"])
    print(os.waitpid(pid, 0)[1])
threads = [threading.Thread(target=lambda: [subprocess.run([true]) for _ in range(4)])
           for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, range(-5, 5)))
print(os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit 4"))
p = subprocess.Popen(["sleep", "30"], stdout=subprocess.PIPE)
time.sleep(0.3)
p.terminate()
print(p.wait())
"""


def test_subprocess():
    """CPython's subprocess in its ways, threads that use it at once, a pool of workers."""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        raise Skip("no /usr/bin/python3")

    def prepare():
        with open("script.py", "w") as f:
            f.write(SUBPROCESS)

    three_runs([python, "-S", "-B", "script.py"], "python3", prepare, lambda: None, 50)


if __name__ == "__main__":
    main(globals())
