// SPDX-License-Identifier: MIT
// The life of threads. Context, but for late threads: the thread itself, signals blocked, state
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

// What libc frees while it takes a thread down, after the thread's last destructor, is recorded as
// one more thread of the process, that all such threads share: nobody would give a buffer of their
// own back. Between begin, which may wait a little, and end the thread is that one. Begin is false
// when its turn does not come; the event is then counted as lost. Any context a hook may run in.
bool ms_attach_late_begin(void);
void ms_attach_late_end(void);

#endif
