// SPDX-License-Identifier: MIT
// clone through libc with its other arguments, with a signal of choice, and with shared memory,
// where the child is no copy: it works as it does untraced.
#include "spawns.h"
#include <sched.h>

static char stack[65536];
static volatile int seen;
static pid_t parent_tid, child_tid;

static int child(void *word)
{
    seen = 5;
    for (int i = 0; i < 10; i++)
        free(malloc(80));
    return strcmp(word, "argument") ? 90 : 9;
}

static int quiet_child(void *unused)
{
    seen = unused ? 6 : 7;
    return 8;
}

static int status_of(pid_t pid, int flags)
{
    int status = -1;
    need(waitpid(pid, &status, flags) == pid, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

int main(void)
{
    static char word[] = "argument";
    void *top = stack + sizeof stack;
    int descriptor = -1;
    pid_t pid = clone(child, top, SIGCHLD, word);
    say_fork("clone", pid, 0, 0);
    need(status_of(pid, 0) == 9 && seen == 0, "plain");
    pid = clone(child, top, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, word, &parent_tid,
            NULL, &child_tid);
    say_fork("clone", pid, 0, 0);
    need(status_of(pid, 0) == 9 && parent_tid == pid && child_tid == 0, "set tid");
    pid = clone(child, top, CLONE_PIDFD | SIGCHLD, word, &descriptor);
    say_fork("clone", pid, 0, 0);
    need(status_of(pid, 0) == 9 && descriptor >= 0, "pidfd");
    close(descriptor);
    pid = clone(child, top, 0, word);
    say_fork("clone", pid, 0, 0);
    need(status_of(pid, (int)__WCLONE) == 9, "no signal");
    errno = 0;
    pid = clone(NULL, top, SIGCHLD, word);
    need(pid == -1 && errno == EINVAL, "no function");
    say_fork("clone", pid, 0, 0);
    errno = 0;
    pid = clone(child, top, CLONE_SIGHAND | SIGCHLD, word);
    need(pid == -1 && errno == EINVAL, "flags that do not go together");
    say_fork("clone", pid, 0, 0);
    // Shared memory: as posix_spawn does it, and left running beside the parent.
    pid = clone(quiet_child, top, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    need(seen == 7 && status_of(pid, 0) == 8, "like vfork");
    pid = clone(quiet_child, top, CLONE_VM | SIGCHLD, word);
    need(status_of(pid, 0) == 8 && seen == 6, "shared");
    free(malloc(90));
    say("count pid=%d kind=malloc n=1 bytes=90", getpid());
    return 0;
}
