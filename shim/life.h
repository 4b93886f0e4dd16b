// SPDX-License-Identifier: MIT
// The life of the process as memspy sees it: start, the child that is new, the end. For the door
// (spy.h) and for hooks of calls that make, replace or end processes. Context: any thread, signal
// handler or vfork child.
#ifndef MEMSPY_LIFE_H
#define MEMSPY_LIFE_H

#include "kernel.h"

#include <memspy/format.h>

// Whether this process records. It begins to, if that is still to be done.
bool ms_life_here(void);

// Whether exact mode is asked for: it may be on before long.
bool ms_life_is_exact(void);

// Writes what is to be said of a forked child, once. Before anything else that it writes; signals
// blocked. False when there is no space.
bool ms_life_tell(void);

// The process's index in the trace. In a vfork child that of its parent, whose memory it uses.
uint32_t ms_life_self(void);

// Whether the caller is a vfork child or the like: in another process's memory. A system call.
bool ms_life_is_guest(void);

// In the child of a fork, at once: it becomes a process of its own in the trace, with `counter` and
// `nanoseconds` as its birth.
void ms_life_child(uint64_t counter, uint64_t nanoseconds);

// What the calling thread has recorded is sealed and its buffer given back: it may not return.
// Nothing happens in a guest.
void ms_life_park(void);

// A block names this address of the program's code: makes sure that the trace says what is there.
void ms_life_learn_code(uint64_t address);

// The process, or the guest, is about to end. `how` is an enum ms_end.
void ms_life_end(unsigned how, int status);

// Whether a thread may attach: the process records, and what telling the paths of its calls takes
// is there. `record` is for exact mode: see ms_kernel_init. Signals blocked, state MS_SPY.
bool ms_life_prepare(ms_kernel_record *record);

// Whether libc has an environment, or had one when recording began: nothing can begin before.
bool ms_life_may_begin(void);

#endif
