// SPDX-License-Identifier: MIT
// Golden traces `killed` and `sealed`: allocates and frees argv[1] times with a pattern of sizes,
// then kills itself. With few rounds everything is in a live block, with many most is in sealed
// ones.
#include "calls.h"
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *held[32] = {NULL};
    size_t rounds = argc > 1 ? (size_t)atol(argv[1]) : 0;
    for (size_t i = 0; i < rounds; i++) {
        size_t at = i * 7 % 32;
        free(held[at]);
        if (i % 11 == 0)
            held[at] = calloc(hidden(i % 50), 16);
        else if (i % 13 == 0)
            held[at] = memalign(64, hidden(i % 700));
        else
            held[at] = malloc(hidden(i * 2654435761u % 900));
        if (i % 5 == 0)
            held[at] = realloc(held[at], hidden(i % 1100 + 1));
    }
    return raise(SIGKILL);
}
