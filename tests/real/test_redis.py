# SPDX-License-Identifier: MIT
"""redis-server with some 300 MB, which forks to save itself: what the trace says of each fork is what
redis measured, and its child is in the tree."""
import socket
import time

from workloads import *
from spawns import *

SAVES = 5
TRIES = 5  # redis may lose the processor within its measure


class Redis:
    """One server on a free port of the loopback, and a connection to it."""

    def __init__(self, trace):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.server = start(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save",
                             "", "--appendonly", "no", "--enable-debug-command", "yes",
                             "--daemonize", "no", "--dir", ".", "--logfile", "redis.log"], trace)
        for _ in range(300):
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port), 60)
                break
            except OSError:
                time.sleep(0.05)
                need(self.server.poll() is None, f"redis-server ended: {self.server.returncode}")
        else:
            raise Stop("redis-server does not answer")
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        parts = [w.encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        line = self.file.readline()
        need(line and line[:1] in b"+:$", f"{words}: {line!r}")
        if line[:1] != b"$":
            return line[1:].strip().decode()
        return self.file.read(int(line[1:]) + 2)[:-2].decode()

    def info(self, section):
        lines = self.call("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def save(self):
        """One BGSAVE, waited for: redis' own measure of its fork in us, and its RSS before it."""
        rss = int(self.info("memory")["used_memory_rss"])
        begin = time.monotonic_ns()
        self.call("BGSAVE")
        for _ in range(1200):
            state = self.info("persistence")
            if state["rdb_bgsave_in_progress"] == "0":
                break
            time.sleep(0.05)
        equal(state["rdb_last_bgsave_status"], "ok", "BGSAVE")
        return int(self.info("stats")["latest_fork_usec"]), rss // 1024, begin, time.monotonic_ns()

    def stop(self):
        self.socket.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
        self.socket.close()
        self.server.communicate(timeout=60)
        return self.server.returncode


def run_redis(trace):
    """The server filled and saved: its pid, [what save() says] and its exit status."""
    redis = Redis(trace)
    try:
        redis.call("DEBUG", "POPULATE", "270000", "key", "1000")
        saves = [redis.save() for _ in range(SAVES)]
        used = int(redis.info("memory")["used_memory"])
        expect(used > 250e6, f"redis holds {used} bytes")
        return redis.server.pid, saves, redis.stop()
    finally:
        if redis.server.poll() is None:
            redis.server.kill()
            redis.server.communicate()


def judge_save(pid, tree, save, fork):
    """One fork: the call, its sizes and its child. Returns whether the durations agree."""
    us, rss, begin, end = save
    ns = fork["ns"]
    print(f"redis {us} us at {rss} KiB, trace {ns / 1e3:.0f} us at {fork['rss_kb']} KiB, "
          f"VmPTE {fork['pte_kb']} KiB, reading {(fork.get('reading_ns') or 0) / 1e3:.0f} us")
    equal((fork["kind"], fork["ok"]), ("fork", True), "the call")
    expect(ns / 1e3 <= us * 1.05 + 100, f"fork: trace {ns / 1e3:.0f} us, redis only {us} us")
    expect(begin <= fork["at"] <= end, "the fork lies elsewhere in time")
    expect(abs(fork["rss_kb"] - rss) <= 0.05 * rss, f"rss: trace {fork['rss_kb']}, redis {rss} KiB")
    children = tree.of(fork["child"])
    equal([(p["origin"], p["ppid"], p["status"]) for p in children], [("fork", pid, 0)], "the child")
    expect(children and children[0]["end"] in ("_exit", "exit"), f"end: {children}")
    return abs(ns / 1e3 - us) <= max(0.05 * us, 100)


def once():
    """One server; whether all of its forks agree."""
    pid, saves, status = run_redis("t.mspy")
    equal(status, 0, "exit status")
    check("t.mspy")
    tree = Tree("t.mspy")
    forks = sorted((f for f in tree.forks if f["pid"] == pid), key=lambda f: f["at_ns"])
    need(len(forks) == SAVES, f"{len(forks)} forks: {[short(f) for f in tree.forks][:3]}")
    agree = [judge_save(pid, tree, save, fork) for save, fork in zip(saves, forks)]
    reaped = [w for w in tree.waits if w["pid"] == pid]
    equal({w["child"] for w in reaped}, {f["child"] for f in forks}, "children reaped")
    for name in os.listdir("."):
        os.unlink(name)
    return all(agree)


def test_bgsave():
    """Each fork within 5 % or 100 us of redis' latest_fork_usec, which has the recorder's own work in
    it; the child of each in the tree."""
    have("redis-server")
    for _ in range(TRIES):
        if once():
            return
    expect(False, f"in {TRIES} servers the {SAVES} forks do not agree")


if __name__ == "__main__":
    main(globals())
