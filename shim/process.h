// SPDX-License-Identifier: MIT
// What the trace says of a process: the properties of PROCESS blocks, and the timer's own
// cost, which is measured here. Context: start and end, signals blocked.
#ifndef MEMSPY_PROCESS_H
#define MEMSPY_PROCESS_H

#include "note.h"

// Measures the timer's floor and, in the first program of a tree, what recording an event costs:
// that is kept in the header of the trace. Once, after the clock is chosen.
void ms_process_measure(void);

// Clock ticks of two readings back to back: taken off every cost.
uint64_t ms_process_floor(void);

// Before anything else is done in a new process: its CPU time counts as ours from here.
void ms_process_starts(void);

// Looks at what a new image came with, while that is as it was. Not in a child of a fork, where
// another thread may hold the loader's lock for ever.
void ms_process_look(void);

// Notes the process's id and the moment at which the shim began to work in it, read from both
// possible clocks since it comes before the choice. `late`: a child that no hook announced.
void ms_process_started(uint64_t counter, uint64_t nanoseconds, bool late);

// The process's id as text, for messages.
const char *ms_process_pid_text(void);

// What is known of a process from its begin, up to 9 KiB; of a forked one a few numbers.
void ms_process_describe(struct ms_note *note, enum ms_origin origin, uint32_t parent);
#define MS_PROCESS_NOTE 9216
// What is known once its first event is about to be recorded. `took_ns`: CPU time that getting
// there took since ms_process_describe.
void ms_process_describe_recording(struct ms_note *note, uint64_t took_ns);
// The status of an end that did not tell it.
#define MS_STATUS_UNKNOWN INT32_MIN

#endif
