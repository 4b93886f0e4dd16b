// SPDX-License-Identifier: MIT
// By turns fork, which is recorded, and the kernel's own clone, which no hook sees, between two
// looks at the clock: in one process and one state of it they cost the same. argv[1]: MiB touched.
#include "spawns.h"
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? (size_t)atol(argv[1]) << 20 : 0;
    char *block = malloc(size + 1);
    memset(block, 1, size + 1);
    for (int i = 0; i < 200; i++) {
        long long begin = now();
        pid_t pid = i % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (pid == 0)
            syscall(SYS_exit_group, 0);
        long long end = now();
        if (i % 2)
            say("note raw=%lld", end - begin);
        else
            say("fork kind=fork pid=%d child=%d errno=0 begin=%lld end=%lld", getpid(), pid, begin,
                    end);
        need(waitpid(pid, NULL, 0) == pid, "waitpid");
    }
    free(block);
    return 0;
}
