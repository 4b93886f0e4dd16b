// SPDX-License-Identifier: MIT
// Sealing: the events of a full buffer become a block of columns, and the buffer is empty again.
// Context: the thread that owns the buffer, signals blocked, state MS_SPY.
#ifndef MEMSPY_SEAL_H
#define MEMSPY_SEAL_H

#include "thread.h"

// Empties the thread's buffer for events that start at `base`, in time units, or later. False when
// recording had to stop; the events then stay where they are, in the live block.
bool ms_seal(struct ms_tls *t, uint64_t base);

// Writes the executable mappings of the process as a MODULES block.
struct ms_pack;
void ms_seal_modules(struct ms_pack *pack, uint32_t process);

// Recording of the process ends for good, with one line that says why. What is recorded stays.
void ms_seal_stop(const char *why);
// Whether it did: a child does not try again, and says nothing.
bool ms_seal_has_stopped(void);

#endif
