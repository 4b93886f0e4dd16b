// SPDX-License-Identifier: MIT
// Signals whose default action ends the process. Where the program leaves one at its
// default, a handler of ours stands: it tells of the end, and then lets the signal do what it would
// have done. The program sees the default in its place. Context: any.
#ifndef MEMSPY_DEATH_H
#define MEMSPY_DEATH_H

#include <memspy/base.h>
#include <signal.h>

// Takes the places that are at their default; `tell` is called in the signal handler. Once, at
// start. Children of a fork inherit them; exec puts the default back, as it does for any handler.
void ms_death_init(void (*tell)(int signal));

// Puts all defaults back: in the first process of a container, which the kernel keeps from what it
// has no handler for.
void ms_death_leave(void);

// At its default a signal ends even a thread that waits for its vfork child; a handler has to wait
// with it. So the defaults are put back around that, in a process of one thread: where there are
// others, they may set handlers at the same time. In the parent, before and after.
void ms_death_suspend(void);
void ms_death_resume(void);

// Whether such a handler may stand for the signal.
bool ms_death_watches(int signal);

// sigaction(2) for a signal that is watched, as the program would find it without us. With
// sigaction's errno.
int ms_death_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

// What a program is to be told of a handler that it finds: the default instead of ours.
void (*ms_death_shown(void (*handler)(int)))(int);

#endif
