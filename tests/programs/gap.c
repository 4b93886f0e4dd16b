// SPDX-License-Identifier: MIT
// What a child does between fork and exec: 5 ms, three dup2 and dup3, four close and close_range,
// two open and openat. argv[1]: the program that it becomes.
#include "spawns.h"

static void redirect(void)
{
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    int one = open("/dev/null", O_RDONLY);
    int two = openat(AT_FDCWD, "/dev/null", O_WRONLY);
    dup2(one, 20);
    dup2(two, 21);
    dup3(two, 22, 0);
    close(20);
    close(21);
    close(22);
    close_range(30, 40, 0);
}

static void child(char **args)
{
    long long begin = now();
    redirect();
    execv("/nonexistent/program", args);
    say("note gap child=%d least=5000000 most=%lld", getpid(), now() - begin);
    say_exec("execv", args[0], 0);
    execv(args[0], args);
    _exit(9);
}

static __attribute__((noinline)) pid_t by_vfork(char **args)
{
    pid_t pid = vfork();
    if (pid == 0)
        child(args);
    return pid;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 3; i++) {
        pid_t pid = i == 2 ? by_vfork(argv + 1) : fork();
        if (pid == 0)
            child(argv + 1);
        need(reap(pid) == 0, "child");
    }
    return 0;
}
