// SPDX-License-Identifier: MIT
// Children are reaped by a handler of SIGCHLD, which comes in the middle of the program's
// allocations and of its forks and spawns, as servers do it. The handler notes what it reaped.
#include "spawns.h"
#include <spawn.h>

enum { CHILDREN = 300 };
static struct {
    pid_t pid;
    int status;
} reaped[CHILDREN + 1];
static volatile sig_atomic_t count;

static void handler(int number)
{
    int saved = errno, status;
    pid_t pid;
    while (count < CHILDREN && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        reaped[count].pid = pid;
        reaped[count].status = status;
        count++;
    }
    errno = saved + 0 * number;
}

static pid_t start(int i, char **args)
{
    pid_t pid = -1;
    if (i % 10 == 9)
        return posix_spawn(&pid, args[0], NULL, NULL, args, environ) ? -1 : pid;
    pid = fork();
    if (pid == 0) {
        free(malloc(40));
        _exit(i % 7);
    }
    return pid;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    if (argc < 2)
        return 2;
    for (int i = 0; i < CHILDREN; i++) {
        long long begin = now();
        pid_t pid = start(i, argv + 1);
        long long end = now();
        need(pid > 0, "start");
        say_fork(i % 10 == 9 ? "posix_spawn" : "fork", pid, begin, end);
        for (int k = 0; k < 100; k++)
            free(malloc(hidden(55)));
    }
    for (int i = 0; i < 1000 && count < CHILDREN; i++)
        usleep(10000);
    for (int i = 0; i < count; i++)
        say_wait("waitpid", reaped[i].pid, reaped[i].status);
    need(count == CHILDREN, "children reaped");
    say("count pid=%d kind=malloc n=%d bytes=%d", getpid(), CHILDREN * 100, CHILDREN * 5500);
    return 0;
}
