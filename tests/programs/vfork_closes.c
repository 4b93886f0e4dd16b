// SPDX-License-Identifier: MIT
// A vfork child (and a forked one) closes every descriptor by the system call itself, opens files
// that get the numbers, then fails to exec, and becomes argv[1] or ends. The parent's descriptors
// are others: it goes on, and so does its recording. The files stay empty.
#include "spawns.h"
#include <sys/syscall.h>

static void child(int way, char **args)
{
    syscall(SYS_close_range, 3, ~0U, 0);
    int fd = open("mine", O_RDWR | O_CREAT, 0600);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 1; i < 40; i++)
        dup2(fd, (int)limit.rlim_cur - i);
    free(malloc(20));
    execve("/nonexistent/program", args, environ);
    if (way % 2)
        execve(args[0], args, environ);
    _exit(5);
}

static __attribute__((noinline)) pid_t by_vfork(int way, char **args)
{
    pid_t pid = vfork();
    if (pid == 0)
        child(way, args);
    return pid;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 500; k++)
            free(malloc(30));
        long long begin = now();
        pid_t pid = i % 4 < 2 ? by_vfork(i, argv + 1) : fork();
        if (pid == 0)
            child(i, argv + 1);
        long long end = now();
        say_fork(i % 4 < 2 ? "vfork" : "fork", pid, begin, end);
        need(reap(pid) == (i % 2 ? 0 : 5), "child");
    }
    say("note done");
    return 0;
}
