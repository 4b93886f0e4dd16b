// SPDX-License-Identifier: MIT
// Exact mode needs SIGSYS: what the program sets for it is kept, not installed. Without exact mode
// these only forward. Context: any thread, any time, signal handlers included.
#define _GNU_SOURCE
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

// Not sigaction above by another name: libc's own use of it inside signal is not hooked.
MS_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (!ms_real_init())
        return SIG_ERR;
    return is_kept(number) ? keep(handler) : ms_real.signal(number, handler);
}

MS_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    if (!ms_real_init())
        return SIG_ERR;
    return is_kept(number) ? keep(handler) : ms_real.__sysv_signal(number, handler);
}

MS_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
        __attribute__((alias("__sysv_signal")));
