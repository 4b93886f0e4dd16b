// SPDX-License-Identifier: MIT
// The executable mappings of the process: which addresses the trace can already explain, and the
// payload of MODULES blocks. Read from /proc/self/maps and not from the loader, whose lock another
// thread may hold. Context: any thread, signals blocked.
#ifndef MEMSPY_MAPS_H
#define MEMSPY_MAPS_H

#include <memspy/wire.h>

// Whether any of the dictionary's callers lies in no mapping that was seen yet. Answers false
// when the mappings were read less than 100 ms ago, longer where reading them found nothing new, or
// while another thread is reading them.
struct ms_encoder;
bool ms_maps_need_reading(const struct ms_encoder *encoder);
// The same for one caller.
bool ms_maps_need_reading_for(uint64_t caller);

// In the child of a fork: no thread is reading.
void ms_maps_after_fork(void);

// Reads the mappings and writes a MODULES payload. `buffer` is working memory.
void ms_maps_read(struct ms_writer *out, char *buffer, size_t size);

#endif
