// SPDX-License-Identifier: MIT
// Which bytes are UTF-8: texts in traces are untrusted.
#ifndef MEMSPY_ANALYZER_UTF8_H
#define MEMSPY_ANALYZER_UTF8_H

#include <stddef.h>

// The size of the well-formed sequence that begins at `at` with `left` bytes to go; 0 when there is
// none. `left` is not 0.
size_t ms_utf8_size(const unsigned char *at, size_t left);

#endif
