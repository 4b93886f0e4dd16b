// SPDX-License-Identifier: MIT
// A program to be started: says who it is and whether the shim is in it, and becomes argv[1] if
// there is one.
#include "spawns.h"

static int has_shim(void)
{
    char text[65536];
    size_t size = 0;
    int fd = open("/proc/self/maps", O_RDONLY);
    for (ssize_t n; (n = read(fd, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    close(fd);
    text[size] = 0;
    return strstr(text, "libmemspy") != NULL;
}

int main(int argc, char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    say("note image=%d ppid=%d shim=%d preload=%s", getpid(), getppid(), has_shim(),
            preload ? preload : "none");
    for (int i = 0; i < 10; i++)
        free(malloc(44));
    argv[argc > 1 ? 2 : 0] = NULL;
    if (argc > 1)
        execv(argv[1], argv + 1);
    return 12;
}
