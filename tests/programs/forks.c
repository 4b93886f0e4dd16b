// SPDX-License-Identifier: MIT
// fork, _Fork, clone and forkpty (argv[1]), six times, the process being larger each time.
#include "spawns.h"
#include <pty.h>
#include <sched.h>

static char stack[65536];

static int child(void *how)
{
    for (int i = 0; i < 10; i++)
        free(malloc(33));
    say_image(!strcmp(how, "clone") ? "clone" : "fork", how, "_exit", 7);
    say("note born=%lld", now());
    _exit(7);
}

// What a child on a terminal of its own writes, passed on.
static void relay(int terminal)
{
    char line[4096];
    for (ssize_t n; (n = read(terminal, line, sizeof line)) > 0;) {
        ssize_t kept = 0;
        for (ssize_t i = 0; i < n; i++)
            if (line[i] != '\r')
                line[kept++] = line[i];
        need(write(1, line, (size_t)kept) == kept, "relay");
    }
    close(terminal);
}

static pid_t split(char *how, int *terminal)
{
    pid_t pid;
    if (!strcmp(how, "clone"))
        return clone(child, stack + sizeof stack, SIGCHLD, how);
    if (!strcmp(how, "forkpty"))
        pid = forkpty(terminal, NULL, NULL, NULL);
    else
        pid = !strcmp(how, "_Fork") ? _Fork() : fork();
    if (pid == 0)
        child(how);
    return pid;
}

int main(int argc, char **argv)
{
    char *how = argv[argc - 1];
    for (int i = 0; i < 6; i++) {
        int terminal = -1;
        char *more = malloc(4 << 20);
        memset(more, 1, 4 << 20);
        struct sizes sizes = read_sizes();
        long long begin = now();
        pid_t pid = split(how, &terminal);
        long long end = now();
        say_fork_of(how, pid, begin, end, &sizes);
        if (terminal >= 0)
            relay(terminal);
        need(reap(pid) == 7, "child's status");
    }
    return 0;
}
