// SPDX-License-Identifier: MIT
// Threads cancelled at a moment that is not theirs to choose, while they allocate between
// cancellation points: the others' events and the process's own are whole.
#include "say.h"
#include <pthread.h>

static __thread unsigned long *mine;
static unsigned long made[100];

static void *work(void *arg)
{
    mine = arg;
    for (;;) {
        free(malloc(140));
        ++*mine;
        for (volatile int i = 0; i < 300; i++)
            ;
        pthread_testcancel();
    }
    return NULL;
}

int main(void)
{
    unsigned long all = 0;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, work, &made[i]) == 0, "pthread_create");
        usleep(500);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        all += made[i];
    }
    need(all > 1000, "the threads ran");
    say("count kind=malloc n=%lu bytes=%lu", all, all * 140);
    say("count kind=free n=%lu", all);
    return 0;
}
