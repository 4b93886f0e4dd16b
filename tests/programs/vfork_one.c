// SPDX-License-Identifier: MIT
// vfork six times, the parent larger each time; the child waits 3 ms, becomes argv[1] or ends; what
// the parent saw of it by its own clock.
#include "spawns.h"

static void child(int number, char **args)
{
    struct timespec pause = {0, 3000000};
    void *block = malloc(40);
    nanosleep(&pause, NULL);
    free(block);
    if (number % 2 == 0) {
        say_exec("execve", args[0], 0);
        execve(args[0], args, environ);
    }
    _exit(7);
}

static __attribute__((noinline)) void one(int number, char **args)
{
    memset(malloc(4 << 20), 1, 4 << 20);
    struct sizes sizes = read_sizes();
    long long begin = now();
    pid_t pid = vfork();
    if (pid == 0)
        child(number, args);
    long long end = now();
    say_fork_of("vfork", pid, begin, end, &sizes);
    say("note child=%d image=%d ended=%d", pid, number % 2 == 0, reap(pid));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 6; i++)
        one(i, argv + 1);
    say("count pid=%d kind=malloc n=12", getpid());
    return 0;
}
