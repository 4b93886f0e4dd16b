// SPDX-License-Identifier: MIT
// Where the bytes of a trace come from: a file, or memory in tests and fuzzers.
#ifndef MEMSPY_ANALYZER_SOURCE_H
#define MEMSPY_ANALYZER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_source {
    int fd;               // -1 for memory
    const uint8_t *bytes; // NULL for a file
    uint64_t size;        // when it was opened; what is appended later is not read
};

// Opens a file for reading. Returns 0 or an errno; EINVAL for what is not a regular file.
int ms_source_open(struct ms_source *source, const char *path);

// A source over `size` bytes, which stay the caller's and must outlive it.
void ms_source_memory(struct ms_source *source, const void *bytes, size_t size);

// Reads exactly `size` bytes at `offset`. Returns false, *to undefined, when they are not there.
bool ms_source_read(const struct ms_source *source, uint64_t offset, void *to, size_t size);

// Releases the file.
void ms_source_close(struct ms_source *source);

#endif
