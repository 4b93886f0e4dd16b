// SPDX-License-Identifier: MIT
// Memory of the analyzer: every allocation that may grow goes through here. Running out of it ends
// the program with a message and exit status 3; no caller checks.
#ifndef MEMSPY_ANALYZER_MEMORY_H
#define MEMSPY_ANALYZER_MEMORY_H

#include <stddef.h>

// Says so and ends the program, for those who allocate by other means.
_Noreturn void ms_memory_failed(void);

// `count` zeroed elements of `size` bytes. Never NULL. Freed with free.
void *ms_memory_zeroed(size_t count, size_t size);

// Returns `block` with room for at least `need` elements of `size` bytes, moved if it had to grow;
// *capacity, in elements, is updated. New room is not initialised. Growth is geometric.
void *ms_memory_grow(void *block, size_t need, size_t *capacity, size_t size);

// A copy of `size` bytes with a terminating 0. Never NULL.
char *ms_memory_text(const void *bytes, size_t size);

#endif
