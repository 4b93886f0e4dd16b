// SPDX-License-Identifier: MIT
// Starts argv[2] argv[1] times: by turns fork and exec, vfork and exec, posix_spawn.
#include "spawns.h"
#include <spawn.h>

static pid_t start(long way, char **args)
{
    pid_t pid = -1;
    if (way == 2)
        return posix_spawn(&pid, args[0], NULL, NULL, args, environ) ? -1 : pid;
    pid = way ? vfork() : fork();
    if (pid == 0) {
        execv(args[0], args);
        _exit(9);
    }
    return pid;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"fork", "vfork", "posix_spawn"};
    if (argc < 3)
        return 2;
    for (long i = 0; i < atol(argv[1]); i++) {
        int status = -1;
        pid_t pid = start(i % 3, argv + 2);
        need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "child");
        say("note started=%d way=%s", pid, ways[i % 3]);
    }
    return 0;
}
