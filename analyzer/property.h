// SPDX-License-Identifier: MIT
// Property lists: tag, length, value (FORMAT.md section 2), as PROCESS, END and SPAWN blocks hold.
#ifndef MEMSPY_ANALYZER_PROPERTY_H
#define MEMSPY_ANALYZER_PROPERTY_H

#include <memspy/wire.h>

// Takes the next property. Returns false at the end and, with in->bad, when it is malformed.
bool ms_property_next(struct ms_cursor *in, unsigned *tag, struct ms_cursor *value);

// Whether the list can be read to its end, and so can the numbers, whose tags `has_number` knows.
bool ms_property_is_sound(struct ms_cursor in, bool (*has_number)(unsigned tag));

// Replaces *to by a copy of the value's first `most` bytes at most, with a 0 behind them. Returns
// how many there are.
size_t ms_property_keep_bytes(char **to, const struct ms_cursor *value, size_t most);

// The same of a text, which ends before its first 0; an empty one becomes NULL.
void ms_property_keep_text(char **to, const struct ms_cursor *value, size_t most);

// The number if it has 32 bits, else `otherwise`.
uint32_t ms_property_narrow(uint64_t value, uint32_t otherwise);

#endif
