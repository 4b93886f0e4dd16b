// SPDX-License-Identifier: MIT
// Allocates argv[1] times, writes one line, and ends with status 7. Says if it got SIGXFSZ.
#include "say.h"
#include <signal.h>

static void too_long(int number)
{
    (void)number;
    say("SIGXFSZ came");
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000;
    void *held[256] = {0};
    signal(SIGXFSZ, too_long);
    for (long i = 0; i < n; i++) {
        free(held[i % 256]);
        held[i % 256] = malloc((size_t)(i * 7919 % 2000));
    }
    say("count kind=malloc n=%ld", n);
    return 7;
}
