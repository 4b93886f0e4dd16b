// SPDX-License-Identifier: MIT
// daemon: the parent ends inside of it, the child goes on, and keeps its stdout.
#include "spawns.h"

int main(void)
{
    pid_t parent = getpid();
    for (int i = 0; i < 10; i++)
        free(malloc(70));
    say("proc pid=%d origin=initial by= end=_exit|exit status=0", parent);
    say("note begin=%lld", now());
    if (daemon(1, 1) != 0)
        return 1;
    say("fork kind=daemon pid=%d child=%d errno=0", parent, getpid());
    say("proc pid=%d origin=fork by=daemon end=exit status=5", getpid());
    for (int i = 0; i < 20; i++)
        free(malloc(71));
    say("count pid=%d kind=malloc n=20 bytes=1420", getpid());
    return 5;
}
