// SPDX-License-Identifier: MIT
// What aarch64_run.sh runs: allocations of several paths, vfork (nested too), failing execs.
// qemu-user makes a fork of vfork: what is seen is the assembly around it, not the shared memory.
// glibc's own fork hangs under qemu-user 7.2, untraced as well.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int await(pid_t child)
{
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int nested(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(3);
    return await(child) == 3 ? 4 : 1;
}

int main(void)
{
    volatile int wrong = 0;
    for (size_t i = 1; i <= 1000; i++)
        free(malloc(i * 300));
    pid_t child;
    for (volatile int i = 0; i < 20; i++) {
        child = vfork();
        if (child == 0) {
            if (i % 2 == 0)
                _exit(nested());
            execl("/absent", "absent", (char *)NULL);
            _exit(5);
        }
        wrong = wrong + (await(child) != (i % 2 == 0 ? 4 : 5));
    }
    printf("wrong %d\n", wrong);
    return wrong != 0;
}
