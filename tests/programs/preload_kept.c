// SPDX-License-Identifier: MIT
// Runs itself with the library argv[1] preloaded, in the place of all others; with it behind the
// others; with an empty LD_PRELOAD; and without LD_PRELOAD.
#include "say.h"
#include <string.h>
#include <sys/wait.h>

static int run(char *self)
{
    static char word[] = "child";
    char *args[] = {self, word, NULL};
    say("note child");
    pid_t pid = fork();
    if (pid == 0) {
        execv(self, args);
        _exit(9);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    char both[1000];
    if (argc < 2)
        return 2;
    if (!strcmp(argv[1], "child")) {
        for (int i = 0; i < 100; i++)
            free(malloc(50));
        say("process pid=%d ppid=%d origin=exec", getpid(), getppid());
        say("count pid=%d kind=malloc n=100 bytes=5000", getpid());
        return 0;
    }
    snprintf(both, sizeof both, "%s %s", getenv("LD_PRELOAD"), argv[1]);
    setenv("LD_PRELOAD", argv[1], 1);
    need(run(argv[0]) == 0, "child with its own");
    setenv("LD_PRELOAD", both, 1);
    need(run(argv[0]) == 0, "child with both");
    setenv("LD_PRELOAD", "", 1);
    need(run(argv[0]) == 0, "child with an empty one");
    unsetenv("LD_PRELOAD");
    need(run(argv[0]) == 0, "child with none");
    return 0;
}
