// SPDX-License-Identifier: MIT
// 200 generations: each process allocates, forks and ends. The first and the last say how many
// mappings they have.
#include "say.h"
#include <fcntl.h>

static void say_mappings(const char *who)
{
    static char text[65536];
    int lines = 0, fd = open("/proc/self/maps", O_RDONLY);
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            lines += text[i] == '\n';
    close(fd);
    say("note %s=%d", who, lines);
}

int main(void)
{
    int ends[2];
    pid_t first = getpid();
    need(pipe(ends) == 0, "pipe");
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 10; k++)
            free(malloc(100));
        if (i == 1)
            say_mappings("first");
        say("process pid=%d", getpid());
        say("count pid=%d kind=malloc n=10 bytes=1000", getpid());
        if (fork() == 0)
            continue;
        close(ends[1]);
        // The first one waits until the last has closed the pipe, by ending.
        if (getpid() == first && read(ends[0], ends, 1) != 0)
            return 1;
        _exit(0);
    }
    say_mappings("last");
    return 0;
}
