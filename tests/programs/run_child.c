// SPDX-License-Identifier: MIT
// Runs argv[1] after some allocations: by fork and exec, then in its own place.
#include "say.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 100; i++)
        free(malloc(10));
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[1], argv + 1);
        _exit(9);
    }
    waitpid(pid, NULL, 0);
    execv(argv[1], argv + 1);
    return 9;
}
