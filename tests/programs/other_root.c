// SPDX-License-Identifier: MIT
// Goes into the directory argv[1] by chroot, without rights but that, and starts /image there.
#include "spawns.h"
#include <spawn.h>

int main(int argc, char **argv)
{
    static char name[] = "/image";
    char *args[] = {name, NULL};
    if (argc < 2 || chroot(argv[1]) || chdir("/")) {
        say("note unable");
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        execv(name, args);
        _exit(9);
    }
    say("note child=%d ended=%d", pid, reap(pid));
    need(posix_spawn(&pid, name, NULL, NULL, args, environ) == 0, "posix_spawn");
    say("note child=%d ended=%d", pid, reap(pid));
    pid = fork();
    if (pid == 0) {
        free(malloc(17));
        say("proc pid=%d ppid=%d origin=fork end=_exit status=8", getpid(), getppid());
        say("count pid=%d kind=malloc n=1 bytes=17", getpid());
        _exit(8);
    }
    need(reap(pid) == 8, "child");
    return 0;
}
