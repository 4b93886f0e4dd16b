// SPDX-License-Identifier: MIT
// vfork inside a vfork child inside a vfork child, argv[1] times; the innermost becomes argv[2]
// every other time. Each level waits for the next.
#include "spawns.h"

static char **args;
static pid_t pids[4];

static __attribute__((noinline)) int nest(int depth, long round)
{
    volatile int kept = depth * 1000;
    int status = -1;
    pid_t pid = vfork();
    if (pid == 0) {
        pids[depth] = getpid();
        if (depth < 3)
            _exit(nest(depth + 1, round));
        if (round % 2)
            execve(args[0], args, environ);
        _exit(0);
    }
    if (pid != pids[depth] || kept != depth * 1000 || waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 98;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    args = argv + 2;
    pids[0] = getpid();
    for (long i = 0; i < atol(argv[1]); i++) {
        need(nest(1, i) == 3, "three levels");
        for (int k = 1; k <= 3; k++)
            say("fork kind=vfork pid=%d child=%d errno=0", pids[k - 1], pids[k]);
    }
    return 0;
}
