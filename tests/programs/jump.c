// SPDX-License-Identifier: MIT
// Leaves a handler by siglongjmp while the main program may be anywhere in its loop, not inside
// malloc; then the hooks go on recording.
#include "say.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t busy;
static volatile int jumps, made;

static void handler(int number)
{
    (void)number;
    if (!busy) {
        free(malloc(99));
        made++;
        siglongjmp(back, 1);
    }
}

int main(void)
{
    const struct itimerval fast = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    if (sigsetjmp(back, 1))
        jumps++;
    setitimer(ITIMER_REAL, &fast, NULL);
    while (jumps < 200) {
        busy = 1;
        free(malloc(88));
        made++;
        busy = 0;
        for (volatile int i = 0; i < 1000; i++)
            ; // the time in which the handler may leave
    }
    setitimer(ITIMER_REAL, &off, NULL);
    busy = 1;
    say("note jumps=%d", jumps);
    say("count kind=malloc n=%d", made);
    return 0;
}
