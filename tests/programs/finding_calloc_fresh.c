// SPDX-License-Identifier: MIT
// calloc-fresh. "bad": big zeroed blocks, each a fresh mapping. "good": they come from memory that
// the allocator kept, and small ones.
#include "say.h"
#include <string.h>

int main(int argc, char **argv)
{
    int bad = argc > 1 && !strcmp(argv[1], "bad");
    mallopt(M_MMAP_THRESHOLD, bad ? 65536 : 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    for (int i = 0; i < 5000; i++) {
        char *p = calloc(1, bad ? 1 << 20 : 1000);
        p[0] = 1;
        free(p);
    }
    say("count kind=calloc n=5000");
    return 0;
}
