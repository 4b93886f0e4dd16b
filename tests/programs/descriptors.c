// SPDX-License-Identifier: MIT
// Closes every descriptor above 2 (argv[1] says how), opens files of its own, records enough to
// make the shim write, and leaves the files for the driver to read.
#include "say.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

// Calls use(fd) for every open descriptor above 2.
static void each_open(void (*use)(int))
{
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *d = readdir(dir); d; d = readdir(dir))
        if (atoi(d->d_name) > 2 && atoi(d->d_name) != dirfd(dir))
            use(atoi(d->d_name));
    closedir(dir);
}

static void close_one(int fd)
{
    close(fd);
}

static void cover_one(int fd)
{
    int mine = open("covered", O_WRONLY | O_CREAT | O_APPEND, 0600);
    need(dup2(mine, fd) == fd, "dup2");
    need(write(fd, "mine\n", 5) == 5, "write");
    close(mine);
}

static void close_in(const char *how)
{
    if (!strcmp(how, "loop"))
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
    if (!strcmp(how, "close_range"))
        need(close_range(3, ~0U, 0) == 0, "close_range");
    if (!strcmp(how, "closefrom"))
        closefrom(3);
    if (!strcmp(how, "proc"))
        each_open(close_one);
    if (!strcmp(how, "dup2"))
        each_open(cover_one);
}

int main(int argc, char **argv)
{
    int fd[20];
    char name[20];
    for (int i = 0; i < 1000; i++)
        free(malloc(10));
    close_in(argc > 1 ? argv[1] : "loop");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "file%d", i);
        fd[i] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        need(fd[i] > 2, "open");
        if (i >= 10) { // the high numbers too
            int high = dup2(fd[i], 1000 + i);
            close(fd[i]);
            fd[i] = high;
        }
    }
    for (int i = 0; i < 50000; i++)
        free(malloc(10));
    for (int i = 0; i < 20; i++) {
        need(write(fd[i], "whole\n", 6) == 6, "write");
        close(fd[i]);
    }
    say("count kind=malloc n=51000 bytes=510000");
    say("count kind=free n=51000");
    return 0;
}
