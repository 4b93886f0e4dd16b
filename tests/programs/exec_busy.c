// SPDX-License-Identifier: MIT
// Becomes argv[1] while four threads allocate, and fails to become another program just before.
#include "spawns.h"
#include <pthread.h>

static void *work(void *unused)
{
    for (;;)
        free(malloc(100));
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2)
        return 2;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, work, NULL);
    usleep(20000);
    execv("/nonexistent/program", argv + 1);
    say_exec("execv", "/nonexistent/program", errno);
    say_exec("execv", argv[1], 0);
    execv(argv[1], argv + 1);
    return 1;
}
