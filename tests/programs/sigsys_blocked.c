// SPDX-License-Identifier: MIT
// Blocks, ignores or resets SIGSYS in the way argv[1] says, and has memory mapped before and after.
#include "say.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

static void ask(void)
{
    for (int i = 0; i < 10; i++)
        free(malloc(hidden(1 << 20)));
}

static void block(const char *how, const sigset_t *all)
{
    if (!strcmp(how, "syscall"))
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, all, NULL, 8);
    if (!strcmp(how, "sigprocmask"))
        sigprocmask(SIG_SETMASK, all, NULL);
    if (!strcmp(how, "pthread_sigmask"))
        pthread_sigmask(SIG_BLOCK, all, NULL);
    if (!strcmp(how, "ignore"))
        signal(SIGSYS, SIG_IGN);
    if (!strcmp(how, "default"))
        for (int i = 1; i < 32; i++)
            signal(i, SIG_DFL);
}

int main(int argc, char **argv)
{
    sigset_t all, old;
    sigfillset(&all);
    mallopt(M_MMAP_THRESHOLD, 65536); // never raised now: each block is a mapping
    ask();
    block(argc > 1 ? argv[1] : "sigprocmask", &all);
    ask();
    sigprocmask(SIG_SETMASK, NULL, &old);
    say("note blocked=%d", sigismember(&old, SIGSYS));
    say("count kind=malloc n=20 bytes=20971520");
    say("count kind=free n=20");
    return 7;
}
