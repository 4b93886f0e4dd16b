// SPDX-License-Identifier: MIT
// Exact mode needs SIGSYS: what the program sets for it is kept, not installed. Where a signal's
// default would end the process a handler of ours stands for it, which the program does not see
// (death.h). All others only forward. Context: any thread, any time, signal handlers included.
#define _GNU_SOURCE
#include "death.h"
#include "kernel.h"
#include "real.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>

sighandler_t __sysv_signal(int signal, sighandler_t handler);

static bool is_kept(int signal)
{
    return signal == SIGSYS && ms_kernel_exact;
}

MS_EXPORT int sigaction(
        int signal, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    if (!ms_real_init())
        return -1;
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

// The default is set by sigaction, so that ours stands in its place.
static sighandler_t set_watched(int number, sighandler_t handler, set_handler *real)
{
    struct sigaction action = {.sa_handler = SIG_DFL}, old;
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
        return set_watched(number, handler, ms_real.signal);
    return is_kept(number) ? keep(handler) : ms_real.signal(number, handler);
}

MS_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    if (!ms_real_init())
        return SIG_ERR;
    if (ms_death_watches(number))
        return set_watched(number, handler, ms_real.__sysv_signal);
    return is_kept(number) ? keep(handler) : ms_real.__sysv_signal(number, handler);
}

MS_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
        __attribute__((alias("__sysv_signal")));
