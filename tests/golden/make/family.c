// SPDX-License-Identifier: MIT
// Golden trace `family`: a child that ends by exit, one that ends by _exit, one that execs this
// program again, one that ends itself by a signal; the parent waits for each.
#include "calls.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *program;

static void work(size_t n)
{
    for (size_t i = 1; i <= n; i++)
        free(malloc(hidden(i * 100)));
}

static void exits(void)
{
    work(3);
    _exit(3);
}

static void execs(void)
{
    work(4);
    execl(program, program, "again", (char *)NULL);
    _exit(127);
}

static void returns(void)
{
    work(5);
    exit(4);
}

static void dies(void)
{
    work(6);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    static void (*const children[])(void) = {returns, exits, execs, dies};
    program = argv[0];
    work(2);
    if (argc > 1)
        return 5;
    void *inherited = malloc(hidden(500));
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        pid_t pid = fork();
        if (pid == 0)
            children[i]();
        waitpid(pid, NULL, 0);
    }
    free(inherited);
    return 0;
}
