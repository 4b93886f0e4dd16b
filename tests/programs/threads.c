// SPDX-License-Identifier: MIT
// Eight threads at once, each with a number of calls and bytes of its own.
#include "say.h"
#include <pthread.h>

#define THREADS 8

static void *work(void *arg)
{
    size_t me = (size_t)arg, n = 10000 + 1000 * me, bytes = 0;
    for (size_t i = 0; i < n; i++) {
        size_t size = 1 + (i * 7919 + me) % 3000;
        bytes += size;
        free(malloc(size));
    }
    say("note thread=%zu n=%zu bytes=%zu", me, n, bytes);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        need(pthread_create(&thread[i], NULL, work, (void *)i) == 0, "pthread_create");
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
