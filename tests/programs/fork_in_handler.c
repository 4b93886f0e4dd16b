// SPDX-License-Identifier: MIT
// A signal handler forks, often in the middle of a call of the program's: by turns the child ends
// at once or runs argv[0] with an argument. No child may call anything else.
#include "say.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#define CHILDREN 200
static pid_t child[CHILDREN];
static volatile sig_atomic_t children;
static char **args;

static void split(int number)
{
    (void)number;
    if (children == CHILDREN)
        return;
    pid_t pid = fork();
    if (pid == 0 && children % 2)
        execv(args[0], args);
    if (pid == 0)
        _exit(4);
    child[children++] = pid;
}

int main(int argc, char **argv)
{
    struct itimerval often = {{0, 5000}, {0, 5000}};
    char *with_argument[] = {argv[0], argv[0], NULL};
    if (argc > 1)
        return 5;
    args = with_argument;
    signal(SIGALRM, split);
    setitimer(ITIMER_REAL, &often, NULL);
    long n = 0;
    for (; children < CHILDREN; n++)
        free(malloc(hidden(40)));
    signal(SIGALRM, SIG_IGN);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        need(waitpid(child[i], &status, 0) == child[i], "waitpid");
        need(WIFEXITED(status) && WEXITSTATUS(status) == 4 + i % 2, "child's status");
        say("process pid=%d origin=%s", child[i], i % 2 ? "exec" : "fork");
    }
    say("note made=%ld", n);
    return 0;
}
