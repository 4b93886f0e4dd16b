// SPDX-License-Identifier: MIT
// A thread loads and unloads the library argv[1] for ever while the main thread forks argv[2]
// times; the children allocate at once, and become nothing else.
#include "spawns.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop, loaded;

static void *work(void *library)
{
    while (!stop) {
        void *handle = dlopen(library, RTLD_NOW);
        need(handle != NULL, "dlopen");
        dlclose(handle);
        loaded++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 2;
    pthread_create(&thread, NULL, work, argv[1]);
    while (!loaded)
        ;
    for (int i = 0; i < atoi(argv[2]); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 20; k++)
                free(malloc(1000));
            say("count pid=%d kind=malloc n=20 bytes=20000", getpid());
            _exit(3);
        }
        need(reap(pid) == 3, "child");
        say("proc pid=%d ppid=%d origin=fork end=_exit status=3", pid, getpid());
    }
    stop = 1;
    pthread_join(thread, NULL);
    need(loaded > 10, "libraries loaded");
    return 0;
}
