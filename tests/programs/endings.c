// SPDX-License-Identifier: MIT
// A known number of calls, then an end: argv[1] says which.
#include "say.h"
#include <signal.h>
#include <string.h>

static void handler(int number)
{
    exit(number);
}

static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + page[0];
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    for (int i = 0; i < 12345; i++)
        free(malloc(50));
    say("count kind=malloc n=12345 bytes=617250");
    say("count kind=free n=12345");
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "_Exit"))
        _Exit(6);
    if (!strcmp(how, "quick_exit"))
        quick_exit(5);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "overflow"))
        return overflow(1);
    if (!strcmp(how, "signal")) {
        signal(SIGUSR1, handler);
        raise(SIGUSR1);
    }
    if (!strcmp(how, "segv"))
        *(volatile int *)hidden(16) = 1;
    if (!strcmp(how, "fpe"))
        raise(SIGFPE);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    return 0;
}
