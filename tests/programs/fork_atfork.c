// SPDX-License-Identifier: MIT
// Handlers of pthread_atfork that allocate, and take 2 ms before the fork and 1 ms after it in the
// parent: part of what fork costs. _Fork does not run them.
#include "spawns.h"
#include <pthread.h>

static int handlers;

static void spend(long micros)
{
    for (int i = 0; i < 5; i++)
        free(malloc(90));
    handlers++;
    usleep((useconds_t)micros);
}

static void prepare(void)
{
    spend(2000);
}

static void parent(void)
{
    spend(1000);
}

static void child(void)
{
    spend(0);
}

int main(void)
{
    pthread_atfork(prepare, parent, child);
    for (int i = 0; i < 20; i++) {
        long long begin = now();
        pid_t pid = i % 2 ? _Fork() : fork();
        if (pid == 0) {
            free(malloc(91));
            say("proc pid=%d ppid=%d origin=fork end=_exit status=0", getpid(), getppid());
            _exit(0);
        }
        say_fork(i % 2 ? "_Fork" : "fork", pid, begin, now());
        need(reap(pid) == 0, "child");
    }
    need(handlers == 20, "handlers run");
    say("count pid=%d kind=malloc n=100 bytes=9000", getpid());
    return 0;
}
