// SPDX-License-Identifier: MIT
// A parent with argv[1] MiB touched forks argv[2] workers, which live all at once, allocate a
// little and say what is theirs alone: private memory and page tables, in KiB.
#include "spawns.h"
#include <sys/mman.h>

static void say_private(void)
{
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n < 0 ? 0 : n] = 0;
    struct sizes sizes = read_sizes();
    say("note private=%ld pte=%ld rss=%ld",
            status_value(text, "\nPrivate_Clean:") + status_value(text, "\nPrivate_Dirty:"),
            sizes.pte, sizes.rss);
}

// All workers are there before the first looks at itself, and until the last has.
static void work(int begin, int ready, int end)
{
    char byte = 0;
    for (int i = 0; i < 100; i++)
        free(malloc(500));
    need(write(ready, &byte, 1) == 1 && read(begin, &byte, 1) == 1, "begin");
    say_private();
    need(write(ready, &byte, 1) == 1 && read(end, &byte, 1) == 0, "end");
    _exit(0);
}

int main(int argc, char **argv)
{
    int begin[2], ready[2], end[2], workers = argc > 2 ? atoi(argv[2]) : 0;
    char bytes[1000] = {0};
    if (workers < 1 || workers > 1000)
        return 2;
    size_t size = (size_t)atol(argv[1]) << 20;
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(block, size, MADV_NOHUGEPAGE);
    memset(block, 1, size);
    need(pipe(begin) == 0 && pipe(ready) == 0 && pipe(end) == 0, "pipes");
    for (int i = 0; i < workers; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            close(end[1]);
            work(begin[0], ready[1], end[0]);
        }
        say("proc pid=%d ppid=%d origin=fork end=_exit status=0", pid, getpid());
        say("count pid=%d kind=malloc n=100 bytes=50000", pid);
    }
    for (int i = 0; i < workers; i++)
        need(read(ready[0], bytes, 1) == 1, "ready");
    need(write(begin[1], bytes, (size_t)workers) == workers, "begin");
    for (int i = 0; i < workers; i++)
        need(read(ready[0], bytes, 1) == 1, "ready");
    close(end[1]);
    for (int i = 0; i < workers; i++)
        need(wait(NULL) > 0, "wait");
    return 0;
}
