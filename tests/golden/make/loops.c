// SPDX-License-Identifier: MIT
// Golden trace `loops`: blocks that are allocated and freed over and over, one or two at a time, so
// that the sealed blocks have runs of either period, cut off by timed calls and by other calls.
#include "calls.h"
#include <malloc.h>
#include <stdlib.h>

static void one(size_t rounds, size_t n)
{
    for (size_t i = 0; i < rounds; i++)
        free(malloc(hidden(n)));
}

static void two(size_t rounds, size_t n)
{
    for (size_t i = 0; i < rounds; i++) {
        void *p = malloc(hidden(n)), *q = malloc(hidden(n + 100));
        free(q);
        free(p);
    }
}

int main(void)
{
    for (size_t i = 0; i < 12; i++) {
        one(20 * i, 24 + i);
        free(calloc(hidden(i), 8));
        two(10 * i, 8 * i);
        free(malloc(hidden(3000)));
    }
    one(1000, 60);
    two(500, 60);
    return 0;
}
