// SPDX-License-Identifier: MIT
// Children made by fork, _Fork and a raw clone each have a process entry and exact counts of their
// own; so has a grandchild. argv[1]: fork, _Fork, clone or double.
#include "say.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t split(const char *how)
{
    if (!strcmp(how, "_Fork"))
        return _Fork();
    if (!strcmp(how, "clone"))
        return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    return fork();
}

static void calls(int n, size_t size)
{
    for (int i = 0; i < n; i++)
        free(malloc(size));
    say("count pid=%d kind=malloc n=%d bytes=%zu", getpid(), n, (size_t)n * size);
    say("count pid=%d kind=free n=%d", getpid(), n);
}

static void child(const char *how, int i)
{
    say("process pid=%d ppid=%d origin=fork", getpid(), getppid());
    if (!strcmp(how, "double")) {
        if (split(how) == 0) {
            say("process pid=%d ppid=%d origin=fork", getpid(), getppid());
            calls(50, 77);
            _exit(0);
        }
        wait(NULL);
    }
    calls(100 + i, 33);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fork";
    say("process pid=%d origin=initial", getpid());
    for (int i = 0; i < 5; i++) {
        pid_t pid = split(how);
        need(pid >= 0, "fork");
        if (pid == 0)
            child(how, i);
        waitpid(pid, NULL, 0);
    }
    calls(1000, 44);
    return 0;
}
