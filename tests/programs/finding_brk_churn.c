// SPDX-License-Identifier: MIT
// brk-churn. "bad": the break grows and is trimmed again and again. "good": no trimming.
#include "say.h"
#include <string.h>

int main(int argc, char **argv)
{
    int bad = argc > 1 && !strcmp(argv[1], "bad");
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, bad ? 0 : 256 << 20);
    mallopt(M_TOP_PAD, 0);
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(400000);
        p[0] = 1;
        free(p);
    }
    say("count kind=malloc n=20000");
    return 0;
}
