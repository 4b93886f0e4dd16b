// SPDX-License-Identifier: MIT
// vfork argv[1] times: by turns the child ends at once, fails to exec and ends, and becomes
// argv[2]. What the children write in the parent's memory stays, and so does what the parent had.
#include "spawns.h"

enum { END, FAIL, EXEC };
static volatile long written, sums;
static long done[3];

// The child allocates too: it is the parent's heap.
static void child(int way, char **args, long i)
{
    char *none[] = {args[0], NULL};
    written = i;
    sums += i;
    if (way != END)
        execve(way == FAIL ? "/nonexistent/program" : args[0], way == FAIL ? none : args, environ);
    if (way == FAIL && errno != ENOENT)
        _exit(99);
    _exit(10 + way);
}

// Apart, so that the frame that vfork returns to twice is small and soon written over.
static __attribute__((noinline)) pid_t one(int way, char **args, long i)
{
    volatile long before[4] = {i, ~i, i * 3, i + 7};
    pid_t pid = vfork();
    if (pid == 0)
        child(way, args, i);
    int saved = errno;
    need(pid > 0 && written == i, "the child's writing");
    need(before[0] == i && before[1] == ~i && before[2] == i * 3 && before[3] == i + 7, "locals");
    errno = saved;
    return pid;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long n = atol(argv[1]), wanted = 0;
    pid_t self = getpid();
    void *kept = malloc(100);
    for (long i = 0; i < n; i++) {
        int way = (int)(i % 3), status = -1;
        pid_t pid = one(way, argv + 2, i);
        wanted += i;
        need(getpid() == self, "pid");
        need(waitpid(pid, &status, 0) == pid, "waitpid");
        need(WIFEXITED(status) && WEXITSTATUS(status) == (way == EXEC ? 0 : 10 + way), "status");
        done[way]++;
        if (i % 100 == 0) {
            free(kept);
            kept = malloc(100);
        }
    }
    need(sums == wanted, "the sum of what children wrote");
    say("note end=%ld fail=%ld exec=%ld", done[END], done[FAIL], done[EXEC]);
    say("count pid=%d kind=malloc n=%ld", self, 1 + (n + 99) / 100);
    return 0;
}
