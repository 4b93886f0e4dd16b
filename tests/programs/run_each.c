// SPDX-License-Identifier: MIT
// Runs each program argv[2…] without arguments, in the way argv[1]: fork, vfork, posix_spawn,
// system or replace (exec without a child; one program). Says how each ended.
#include "spawns.h"
#include <spawn.h>

static pid_t start(const char *how, char *path)
{
    char *args[] = {path, NULL};
    pid_t pid = -1;
    if (!strcmp(how, "replace"))
        execv(path, args);
    if (!strcmp(how, "posix_spawn"))
        return posix_spawn(&pid, path, NULL, NULL, args, environ) ? -1 : pid;
    pid = !strcmp(how, "vfork") ? vfork() : fork();
    if (pid == 0) {
        execv(path, args);
        _exit(111);
    }
    return pid;
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[1], "system")) {
            int status = system(argv[i]);
            say("note ran=%s ended=%d", argv[i], WEXITSTATUS(status));
            continue;
        }
        pid_t pid = start(argv[1], argv[i]);
        int ended = pid > 0 ? reap(pid) : -1;
        say("note ran=%s child=%d ended=%d", argv[i], pid, ended);
    }
    for (int i = 0; i < 30; i++)
        free(malloc(15));
    say("count pid=%d kind=malloc n=30 bytes=450", getpid());
    return 0;
}
