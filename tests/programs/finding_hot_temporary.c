// SPDX-License-Identifier: MIT
// hot-temporary. "bad": one place allocates a small block and frees it at once, a great many times.
// "good": every block of the same number lives long.
#include "say.h"
#include <string.h>

#define BLOCKS 300000
static void *block[BLOCKS];

int main(int argc, char **argv)
{
    int bad = argc > 1 && !strcmp(argv[1], "bad");
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(48);
        if (bad)
            free(block[i]);
    }
    say("count kind=malloc n=%d", BLOCKS);
    return 0;
}
