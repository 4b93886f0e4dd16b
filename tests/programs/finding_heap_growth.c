// SPDX-License-Identifier: MIT
// heap-growth. "bad": a thread's arena grows by one mprotect for nearly each block. "good": the
// same number of blocks, each given back before the next.
#include "say.h"
#include <pthread.h>
#include <string.h>

#define BLOCKS 20000
static int bad;
static void *block[BLOCKS];

static void *work(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(30000);
        if (!bad)
            free(block[i]);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    bad = argc > 1 && !strcmp(argv[1], "bad");
    need(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    say("count kind=malloc n=%d", BLOCKS);
    return 0;
}
