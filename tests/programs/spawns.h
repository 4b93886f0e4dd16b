// SPDX-License-Identifier: MIT
// What a test program says about the processes it makes, for spawns.py to compare with the report:
//
//     fork kind=… pid=… child=… errno=… begin=… end=…   a call of fork and its kin (errno 0:
//     worked) exec kind=… pid=… path=… errno=… at=…             an attempt (errno 0: about to work)
//     wait kind=… pid=… child=… status=…                a child that was reaped
//     proc pid=… ppid=… origin=… by=… end=…             an image that the report must have
//
// Times are CLOCK_MONOTONIC in ns, sizes KiB. All of it may be called in a vfork child.
#ifndef MEMSPY_TESTS_SPAWNS_H
#define MEMSPY_TESTS_SPAWNS_H

#include "say.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static inline long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct sizes {
    long vsz, rss, anon, file, shmem, pte, threads;
};

// A number of /proc/self/status by its key, with the line break before and the colon.
static inline long status_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static inline struct sizes read_sizes(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n < 0 ? 0 : n] = 0;
    return (struct sizes){status_value(text, "\nVmSize:"), status_value(text, "\nVmRSS:"),
            status_value(text, "\nRssAnon:"), status_value(text, "\nRssFile:"),
            status_value(text, "\nRssShmem:"), status_value(text, "\nVmPTE:"),
            status_value(text, "\nThreads:")};
}

// A call that made a child, or did not (child < 0, errno).
static inline void say_fork(const char *kind, pid_t child, long long begin, long long end)
{
    say("fork kind=%s pid=%d child=%d errno=%d begin=%lld end=%lld", kind, getpid(), child,
            child < 0 ? errno : 0, begin, end);
}

// The same with what the process was like just before.
static inline void say_fork_of(
        const char *kind, pid_t child, long long begin, long long end, const struct sizes *s)
{
    say("fork kind=%s pid=%d child=%d errno=%d begin=%lld end=%lld vsz=%ld rss=%ld anon=%ld "
        "file=%ld shmem=%ld pte=%ld threads=%ld",
            kind, getpid(), child, child < 0 ? errno : 0, begin, end, s->vsz, s->rss, s->anon,
            s->file, s->shmem, s->pte, s->threads);
}

// An attempt that is about to work, or (after it, with errno) did not.
static inline void say_exec(const char *kind, const char *path, int error)
{
    say("exec kind=%s pid=%d path=%s errno=%d at=%lld", kind, getpid(), path, error, now());
}

static inline void say_wait(const char *kind, pid_t child, int status)
{
    say("wait kind=%s pid=%d child=%d status=%d", kind, getpid(), child, status);
}

// The program was started (by the function `by`): what its own image must look like.
static inline void say_image(const char *origin, const char *by, const char *end, int status)
{
    say("proc pid=%d ppid=%d origin=%s by=%s end=%s status=%d", getpid(), getppid(), origin, by,
            end, status);
}

// Waits for a child and says so; its exit status, or minus the signal's number.
static inline int reap(pid_t child)
{
    int status = -1;
    if (waitpid(child, &status, 0) != child)
        return -1000;
    say_wait("waitpid", child, status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
