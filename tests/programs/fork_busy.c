// SPDX-License-Identifier: MIT
// Threads (argv[1], or 4) allocate while the main thread forks (argv[2], or 50 times); the children
// allocate at once.
#include "say.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

static atomic_int stop;
static atomic_int made;

static void *work(void *arg)
{
    int n = 0;
    for (; !atomic_load(&stop); n++) {
        free(malloc((size_t)arg * 1000 + (size_t)n % 500));
        for (volatile int i = 0; i < 1000; i++)
            ; // so that the trace stays small
    }
    atomic_fetch_add(&made, n);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[64];
    int threads = argc > 1 ? atoi(argv[1]) : 4, forks = argc > 2 ? atoi(argv[2]) : 50;
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        need(pid >= 0, "fork");
        if (pid == 0) {
            for (int k = 0; k < 200; k++)
                free(malloc(600));
            say("process pid=%d ppid=%d origin=fork", getpid(), getppid());
            say("count pid=%d kind=malloc n=200 bytes=120000", getpid());
            _exit(0);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        need(status == 0, "child's status");
    }
    stop = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    say("count pid=%d kind=malloc n=%d", getpid(), made);
    return 0;
}
