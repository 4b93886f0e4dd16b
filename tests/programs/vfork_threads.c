// SPDX-License-Identifier: MIT
// Eight threads vfork at once, argv[1] times each: a third of the children end, a third try to
// become nothing, a third become argv[2].
#include "spawns.h"
#include <pthread.h>
#include <stdatomic.h>

static long count;
static char **args;
static atomic_long good;

static __attribute__((noinline)) pid_t one(long way, volatile long *mine, long i)
{
    pid_t pid = vfork();
    if (pid == 0) {
        *mine = i;
        if (way > 0)
            execve(way == 1 ? "/nonexistent/program" : args[0], args, environ);
        _exit((int)way);
    }
    return pid;
}

static void *work(void *thread)
{
    for (long i = 0; i < count; i++) {
        volatile long mine = -1;
        long way = (i + (long)thread) % 3;
        int status = -1;
        void *block = malloc(300);
        pid_t pid = one(way, &mine, i);
        need(pid > 0 && mine == i, "the child's writing");
        need(waitpid(pid, &status, 0) == pid, "waitpid");
        need(WIFEXITED(status) && WEXITSTATUS(status) == (way == 2 ? 0 : way), "status");
        free(block);
        good += WIFEXITED(status);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[8];
    if (argc < 3)
        return 2;
    count = atol(argv[1]);
    args = argv + 2;
    for (long i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    say("note good=%ld", good);
    say("count pid=%d kind=malloc n=%ld bytes=%ld", getpid(), 8 * count, 8 * count * 300);
    say("count pid=%d kind=free n=%ld", getpid(), 8 * count);
    return 0;
}
