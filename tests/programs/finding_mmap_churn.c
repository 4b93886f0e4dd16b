// SPDX-License-Identifier: MIT
// mmap-churn. "bad": a big block is mapped and unmapped again and again, as when the threshold is
// fixed. "good": the same calls with the block kept by the allocator.
#include "say.h"
#include <string.h>

int main(int argc, char **argv)
{
    int bad = argc > 1 && !strcmp(argv[1], "bad");
    mallopt(M_MMAP_THRESHOLD, bad ? 65536 : 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(1 << 20);
        p[0] = 1;
        free(p);
    }
    say("count kind=malloc n=20000");
    return 0;
}
