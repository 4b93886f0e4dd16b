// SPDX-License-Identifier: MIT
// Golden trace `threads`: two threads beside the main one, in turn; what the first allocates the
// second frees. The trace has three threads, one of which grows an arena of its own.
#include "calls.h"
#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 120

static void *blocks[BLOCKS];

static void *first(void *unused)
{
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(hidden(i * 67));
    return unused;
}

static void *second(void *unused)
{
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(malloc(hidden(3000)));
    return unused;
}

int main(void)
{
    void *(*const work[])(void *) = {first, second};
    for (size_t i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work[i], NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
