// SPDX-License-Identifier: MIT
// Owns the handler of fatal signals. It runs in the thread that gets the signal, maybe on a small
// alternate stack, and does little: one block is written, and the same signal, with all that the
// kernel said of it, is queued again for this thread. It is taken when the handler returns, before
// the interrupted instruction: a core dump shows what it would have shown.
#define _GNU_SOURCE
#include "death.h"

#include "real.h"
#include "sys.h"
#include "tls.h"

#include <ucontext.h>

// The common ones of those that end by default (signal(7)); not SIGXFSZ, which our own writes
// avoid. First those that others send.
static const uint8_t watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM,
        SIGTERM, SIGXCPU, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
#define SENT 9

static void (*tell_end)(int signal); // NULL until ms_death_init

// What the program set along with the default: it finds that again.
static struct sigaction program_default[65];

// What libc adds to the flags that it gives to the kernel: SA_RESTORER on x86-64.
#if defined(__x86_64__)
#define LIBC_FLAGS 0x04000000
#else
#define LIBC_FLAGS 0
#endif

// The kernel has put the default back before it called this: no system call that a filter may
// refuse is needed for that.
static void on_fatal(int signal, siginfo_t *info, void *context)
{
    // In exact mode it may come while system calls are dispatched: not those that follow.
    ms_tls.place.selector = 0;
    // In a call that had it unblocked for its own time (sigsuspend) it is blocked again on return,
    // and has to be taken now.
    sigdelset(&((ucontext_t *)context)->uc_sigmask, signal);
    tell_end(signal);
    ms_sys_send_again(signal, info);
}

bool ms_death_watches(int signal)
{
    if (tell_end == NULL)
        return false;
    for (size_t i = 0; i < sizeof watched; i++)
        if (watched[i] == signal)
            return true;
    return false;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fatal;
}

void (*ms_death_shown(void (*handler)(int)))(int)
{
    return (uintptr_t)handler == (uintptr_t)on_fatal ? SIG_DFL : handler;
}

int ms_death_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before, ours = {.sa_sigaction = on_fatal};
    // The stack may be what is wrong; where it is not, an alternate one may be too small.
    bool may_lack_stack = signal == SIGSEGV || signal == SIGBUS;
    ours.sa_flags = (int)(SA_SIGINFO | SA_RESETHAND) | (may_lack_stack ? SA_ONSTACK : 0);
    sigfillset(&ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGSYS); // exact mode needs it at any time
    struct sigaction kept = program_default[signal];
    const struct sigaction *installed = action;
    if (action != NULL && action->sa_handler == SIG_DFL) {
        program_default[signal] = *action;
        program_default[signal].sa_flags |= LIBC_FLAGS;
        installed = &ours;
    }
    int result = ms_real.sigaction(signal, installed, &before);
    if (result == 0 && old != NULL)
        *old = is_ours(&before) ? kept : before;
    return result;
}

void ms_death_init(void (*tell)(int signal))
{
    if (ms_sys_pid() == 1) // see ms_death_leave
        return;
    tell_end = tell;
    for (size_t i = 0; i < sizeof watched; i++) {
        struct sigaction before;
        if (ms_real.sigaction(watched[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL)
            continue;
        ms_death_sigaction(watched[i], &before, NULL);
        program_default[watched[i]] = before;
    }
}

// Puts back the default of the first `count` that are watched.
static void put_back(size_t count)
{
    for (size_t i = 0; tell_end != NULL && i < count; i++) {
        struct sigaction before;
        if (ms_real.sigaction(watched[i], NULL, &before) == 0 && is_ours(&before))
            ms_sys_default_action(watched[i]);
    }
}

void ms_death_leave(void)
{
    put_back(sizeof watched);
    tell_end = NULL;
}

static bool suspended; // the vfork under way did it

void ms_death_suspend(void)
{
    put_back(SENT);
    suspended = true;
}

void ms_death_resume(void)
{
    if (!suspended)
        return;
    suspended = false;
    for (size_t i = 0; tell_end != NULL && i < SENT; i++) {
        struct sigaction before, kept = program_default[watched[i]];
        if (ms_real.sigaction(watched[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL)
            continue;
        ms_death_sigaction(watched[i], &before, NULL);
        program_default[watched[i]] = kept;
    }
}
