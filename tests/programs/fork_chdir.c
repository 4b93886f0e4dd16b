// SPDX-License-Identifier: MIT
// The output path is relative, and the program leaves the directory before it forks and execs.
#include "say.h"
#include <string.h>
#include <sys/wait.h>

static void calls(int n)
{
    for (int i = 0; i < n; i++)
        free(malloc(55));
    say("count pid=%d kind=malloc n=%d", getpid(), n);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "again")) {
        say("process pid=%d origin=exec", getpid());
        calls(30);
        return 0;
    }
    need(argc > 1 && chdir("/") == 0, "chdir");
    pid_t pid = fork();
    if (pid == 0) {
        say("process pid=%d ppid=%d origin=fork", getpid(), getppid());
        calls(20000); // more than a buffer
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    pid = fork();
    if (pid == 0) {
        execl(argv[1], argv[1], "again", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    calls(20000);
    return 0;
}
