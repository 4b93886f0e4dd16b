// SPDX-License-Identifier: MIT
// Children that share the memory, made by clone as other libraries make their posix_spawn: they
// redirect, fail to exec, become argv[1], or end; the parent goes on undisturbed.
#include "spawns.h"
#include <sched.h>

static char stack[65536];
static char **args;
static volatile int turns;

static int child(void *how)
{
    int fd = open("/dev/null", O_RDWR);
    turns++;
    dup2(fd, 40);
    close(fd);
    close(40);
    free(malloc(70));
    execve("/nonexistent/program", args, environ);
    if (!strcmp(how, "exec"))
        execve(args[0], args, environ);
    _exit(errno == ENOENT ? 6 : 99);
}

int main(int argc, char **argv)
{
    static char exec_word[] = "exec", end_word[] = "end";
    if (argc < 2)
        return 2;
    args = argv + 1;
    for (int i = 0; i < 100; i++) {
        char *block = malloc(60);
        pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                i % 2 ? exec_word : end_word);
        need(pid > 0 && turns == i + 1, "clone");
        int status = -1;
        need(waitpid(pid, &status, 0) == pid, "waitpid");
        need(WIFEXITED(status) && WEXITSTATUS(status) == (i % 2 ? 0 : 6), "child's status");
        say("note made=%d way=%s", pid, i % 2 ? exec_word : end_word);
        free(block);
        if (i % 10 == 0) {
            pid = fork();
            if (pid == 0)
                _exit(3);
            need(reap(pid) == 3, "fork in between");
            say("proc pid=%d ppid=%d origin=fork by=fork end=_exit status=3", pid, getpid());
        }
    }
    say("count kind=free n=200"); // the children's are made in its memory
    return 0;
}
