// SPDX-License-Identifier: MIT
// Exact mode only: keeps SIGSYS deliverable, since one that is blocked when it must be delivered
// ends the process. Without exact mode these only forward. Context: any thread, any time.
#define _GNU_SOURCE
#include "kernel.h"
#include "real.h"
#include "sys.h"

#include <errno.h>
#include <signal.h>

static const sigset_t *without_sigsys(const sigset_t *set, sigset_t *copy)
{
    if (!ms_kernel_exact || set == NULL)
        return set;
    *copy = *set;
    sigdelset(copy, SIGSYS);
    return copy;
}

MS_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    if (!ms_real_init())
        return -1;
    return ms_real.sigprocmask(how, how == SIG_UNBLOCK ? set : without_sigsys(set, &copy), old);
}

MS_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    if (!ms_real_init())
        return EINVAL;
    return ms_real.pthread_sigmask(how, how == SIG_UNBLOCK ? set : without_sigsys(set, &copy), old);
}

MS_EXPORT int sigaction(
        int signal, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    struct sigaction copy;
    if (!ms_real_init())
        return -1;
    if (ms_kernel_exact && action != NULL) {
        copy = *action;
        sigdelset(&copy.sa_mask, SIGSYS);
        action = &copy;
    }
    return ms_real.sigaction(signal, action, old);
}
