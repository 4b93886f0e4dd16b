// SPDX-License-Identifier: MIT
// Golden trace `spawns`: a child of each way, each one awaited; attempts that fail; a death by a
// signal. What the children run is this program again, and the shell.
#include "calls.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *again[] = {"spawns", "again", NULL};

static void await(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(1);
}

static int cloned(void *unused)
{
    (void)unused;
    free(malloc(hidden(64)));
    return 6;
}

static void forks(void)
{
    static char stack[65536];
    pid_t child = fork();
    if (child == 0) {
        int fd = open("/dev/null", O_WRONLY);
        dup2(fd, 1);
        close(fd);
        execvp("spawns", again); // in the second directory of PATH
        _exit(1);
    }
    await(child);
    await(clone(cloned, stack + sizeof stack, SIGCHLD, NULL));
    child = fork();
    if (child == 0)
        abort();
    siginfo_t info;
    if (waitid(P_PID, (id_t)child, &info, WEXITED) != 0)
        exit(1);
}

static void vforks(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execve("/tmp/memspy-golden/absent", again, environ);
        execve("/tmp/memspy-golden/spawns", again, environ);
        _exit(1);
    }
    await(child);
    child = vfork();
    if (child == 0)
        _exit(2);
    await(child);
}

static void spawns(void)
{
    pid_t child = 0;
    if (posix_spawn(&child, "/tmp/memspy-golden/spawns", NULL, NULL, again, environ) != 0)
        exit(1);
    await(child);
    if (posix_spawn(&child, "/tmp/memspy-golden/absent", NULL, NULL, again, environ) == 0)
        exit(1);
}

static void shells(void)
{
    char line[16];
    if (system("exit 3") != 3 << 8)
        exit(1);
    FILE *stream = popen("echo hello", "r");
    if (stream == NULL || fgets(line, sizeof line, stream) == NULL || pclose(stream) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    (void)argv;
    free(malloc(hidden(100)));
    if (argc > 1)
        return 5;
    forks();
    vforks();
    spawns();
    shells();
    return 0;
}
