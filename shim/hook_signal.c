// SPDX-License-Identifier: MIT
// Exact mode needs SIGSYS: what the program sets for it is kept, not installed. Where a signal's
// default would end the process a handler of ours stands for it, which the program does not see
// (death.h). All others only forward. Context: any thread, any time, signal handlers included.
#define _GNU_SOURCE
#include "death.h"
#include "kernel.h"
#include "life.h"
#include "real.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>

sighandler_t __sysv_signal(int signal, sighandler_t handler);
sighandler_t bsd_signal(int number, sighandler_t handler);
int __sigaction(
        int signal, const struct sigaction *restrict action, struct sigaction *restrict old);

static bool is_kept(int signal)
{
    return signal == SIGSYS && ms_kernel_exact;
}

MS_EXPORT int sigaction(
        int signal, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    if (!ms_real_init())
        return -1;
    // A handler that blocks SIGSYS may interrupt the allocator while its system calls are
    // dispatched.
    struct sigaction without_sigsys;
    if (ms_life_is_exact() && action != NULL) {
        without_sigsys = *action;
        sigdelset(&without_sigsys.sa_mask, SIGSYS);
        action = &without_sigsys;
    }
    if (ms_death_watches(signal))
        return ms_death_sigaction(signal, action, old);
    if (!is_kept(signal))
        return ms_real.sigaction(signal, action, old);
    struct sigaction before = ms_kernel_program_action;
    if (action != NULL)
        ms_kernel_program_action = *action;
    if (old != NULL)
        *old = before;
    return 0;
}

static sighandler_t keep(sighandler_t handler)
{
    sighandler_t before = ms_kernel_program_action.sa_handler;
    ms_kernel_program_action = (struct sigaction){.sa_handler = handler};
    return before;
}

typedef sighandler_t set_handler(int, sighandler_t);

// The default is set by sigaction, so that ours stands in its place, with the flags that the
// function would have set.
static sighandler_t set_watched(int number, sighandler_t handler, set_handler *real, int flags)
{
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = flags}, old;
    if (flags == SA_RESTART)
        sigaddset(&action.sa_mask, number);
    if (handler != SIG_DFL)
        return ms_death_shown(real(number, handler));
    return ms_death_sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

// Not sigaction above by another name: libc's own use of it inside signal is not hooked.
MS_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (!ms_real_init())
        return SIG_ERR;
    if (ms_death_watches(number))
        return set_watched(number, handler, ms_real.signal, SA_RESTART);
    return is_kept(number) ? keep(handler) : ms_real.signal(number, handler);
}

MS_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    if (!ms_real_init())
        return SIG_ERR;
    if (ms_death_watches(number))
        return set_watched(
                number, handler, ms_real.__sysv_signal, (int)(SA_RESETHAND | SA_NODEFER));
    return is_kept(number) ? keep(handler) : ms_real.__sysv_signal(number, handler);
}

MS_ALIAS(__sysv_signal) sighandler_t sysv_signal(int number, sighandler_t handler);

// Its other ways, SIG_HOLD and what it does to the mask, are libc's.
MS_EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
    if (!ms_real_init() || ms_real.sigset == NULL)
        return SIG_ERR;
    sighandler_t before = ms_death_shown(ms_real.sigset(number, handler));
    struct sigaction action = {.sa_handler = SIG_DFL};
    if (handler == SIG_DFL && ms_death_watches(number))
        ms_death_sigaction(number, &action, NULL);
    return before;
}

MS_ALIAS(sigaction)
int __sigaction(
        int signal, const struct sigaction *restrict action, struct sigaction *restrict old);
MS_ALIAS(signal) sighandler_t bsd_signal(int number, sighandler_t handler);
MS_ALIAS(signal) sighandler_t ssignal(int number, sighandler_t handler);
