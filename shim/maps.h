// SPDX-License-Identifier: MIT
// The executable mappings of the process: which addresses the trace can already explain, and the
// payload of MODULES blocks. Read from /proc/self/maps and not from the loader, whose lock another
// thread may hold. Context: any thread, signals blocked.
#ifndef MEMSPY_MAPS_H
#define MEMSPY_MAPS_H

#include <memspy/wire.h>

// Whether any of the dictionary's callers lies in no mapping that was written yet. Answers false
// when the mappings were read less than 100 ms ago (code that is compiled at run time never gets
// a file), or while another thread is reading them.
struct ms_encoder;
bool ms_maps_need_reading(const struct ms_encoder *encoder);

// Reads the mappings and writes a MODULES payload. `buffer` is working memory.
void ms_maps_read(struct ms_writer *out, char *buffer, size_t size);

#endif
