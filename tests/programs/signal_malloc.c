// SPDX-License-Identifier: MIT
// A timer's handler allocates at any moment, also inside a hooked call of the interrupted program.
// This is sound with glibc: both sides stay within the thread cache, which takes no lock, and each
// has a size of its own. What enters while memspy itself is at work may be counted instead of
// recorded.
#include "say.h"
#include <signal.h>
#include <sys/time.h>

static volatile int in_handler, ticks;

static void handler(int number)
{
    (void)number;
    ticks++;
    for (int i = 0; i < 10; i++)
        free(malloc(500));
    in_handler += 10;
}

int main(void)
{
    const struct itimerval fast = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    int n = 0;
    signal(SIGALRM, handler);
    raise(SIGALRM); // fills the cache
    setitimer(ITIMER_REAL, &fast, NULL);
    for (; n < 300000 || (ticks < 50 && n < 3000000); n++)
        free(malloc(300));
    setitimer(ITIMER_REAL, &off, NULL);
    need(ticks >= 20, "the timer fired");
    say("note main=%d handler=%d", n, in_handler);
    return 0;
}
