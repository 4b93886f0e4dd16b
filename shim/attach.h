// SPDX-License-Identifier: MIT
// The life of threads. Context, but for ms_attach_late: the thread itself, signals blocked, state
// MS_SPY, in a process that records.
#ifndef MEMSPY_ATTACH_H
#define MEMSPY_ATTACH_H

#include "thread.h"

// Once, at start: makes sure that the end of each thread is noticed.
void ms_attach_init(void);

// Gives the thread what it needs to record. False when there is no space; recording then has
// stopped.
bool ms_attach_thread(struct ms_tls *t);

// Seals what the thread has and gives its live block back. The thread may attach again.
void ms_attach_park(struct ms_tls *t);

// A thread that libc is taking down has recorded something after its last destructor: it gives its
// buffer back at once, since it will not be asked again. Any context a hook may run in.
void ms_attach_late(void);

#endif
