// SPDX-License-Identifier: MIT
// 200 live threads; what they allocate in a key's destructor, while they end, counts too.
#include "say.h"
#include <pthread.h>

#define THREADS 200
static pthread_key_t key;
static pthread_barrier_t all_live;

static void at_exit(void *block)
{
    if (*(char *)block == 'a') {
        char *again = malloc(222);
        *again = 'b';
        pthread_setspecific(key, again); // glibc calls the destructor once more
    }
    free(block);
}

static void *work(void *unused)
{
    char *block = malloc(111);
    *block = 'a';
    pthread_setspecific(key, block);
    pthread_barrier_wait(&all_live);
    return unused;
}

int main(void)
{
    pthread_t thread[THREADS];
    pthread_key_create(&key, at_exit);
    pthread_barrier_init(&all_live, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&thread[i], NULL, work, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    say("count kind=malloc n=%d bytes=%d", 2 * THREADS, 333 * THREADS);
    say("count kind=free n=%d", 2 * THREADS);
    return 0;
}
