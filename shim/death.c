// SPDX-License-Identifier: MIT
// Owns the handler of fatal signals. It runs in the thread that gets the signal, maybe on a small
// alternate stack, and does little: one block is written, the default action is put back, and the
// same signal, with all that the kernel said of it, is queued again for this thread. It is taken
// when the handler returns, before the interrupted instruction: a core dump shows what it would
// have shown.
#define _GNU_SOURCE
#include "death.h"

#include "real.h"
#include "sys.h"

// Not SIGXFSZ, which our own writes avoid, and nothing that has another default (signal(7)).
static const uint8_t watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
        SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU};

static void (*tell_end)(int signal); // NULL until ms_death_init

// What the program set along with the default: it finds that again.
static struct sigaction program_default[65];

static void on_fatal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    tell_end(signal);
    ms_sys_default_action(signal);
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
    struct sigaction before, ours = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction kept = program_default[signal];
    const struct sigaction *installed = action;
    if (action != NULL && action->sa_handler == SIG_DFL) {
        program_default[signal] = *action;
        installed = &ours;
    }
    int result = ms_real.sigaction(signal, installed, &before);
    if (result == 0 && old != NULL)
        *old = is_ours(&before) ? kept : before;
    return result;
}

void ms_death_init(void (*tell)(int signal))
{
    // The kernel keeps the first process of a container from what it has no handler for.
    if (ms_sys_pid() == 1)
        return;
    tell_end = tell;
    for (size_t i = 0; i < sizeof watched; i++) {
        struct sigaction before;
        if (ms_real.sigaction(watched[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            ms_death_sigaction(watched[i], &before, NULL);
    }
}
