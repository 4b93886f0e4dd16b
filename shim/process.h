// SPDX-License-Identifier: MIT
// What the trace says of a process: the properties of PROCESS and END blocks, and the timer's own
// cost, which is measured here. Context: start and end, signals blocked.
#ifndef MEMSPY_PROCESS_H
#define MEMSPY_PROCESS_H

#include <memspy/format.h>
#include <memspy/wire.h>

// Measures the timer's floor and what recording an event costs. Once, after the clock is chosen.
void ms_process_measure(void);

// Clock ticks of two readings back to back: taken off every cost.
uint64_t ms_process_floor(void);

// Notes the process's id and the moment at which the shim began to work in it, read from both
// possible clocks since it comes before the choice.
void ms_process_started(uint64_t counter, uint64_t nanoseconds);

// The process's id as text, for messages.
const char *ms_process_pid_text(void);

void ms_process_describe(struct ms_writer *out, enum ms_origin origin, uint32_t parent);
// The status of an end that did not tell it: no property.
#define MS_STATUS_UNKNOWN INT32_MIN
void ms_process_describe_end(struct ms_writer *out, unsigned how, int status, const char *path);

#endif
