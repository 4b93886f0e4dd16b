// SPDX-License-Identifier: MIT
// Allocation for a short-lived program: success or the end. What the analyzer allocates is bounded
// by the live heap, the distinct callers and the number of blocks of the trace, so that running
// out of memory is a fact about the machine and not something a caller could repair.
// Callable in any context of the analyzer, which has one thread.
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"

void ms_memory_failed(void)
{
    ms_diag_error("out of memory");
    exit(MS_EXIT_UNREADABLE);
}

static void *checked(void *block)
{
    if (!block)
        ms_memory_failed();
    return block;
}

void *ms_memory_zeroed(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

void *ms_memory_grow(void *block, size_t need, size_t *capacity, size_t size)
{
    if (need <= *capacity)
        return block;
    size_t grown = *capacity + *capacity / 2 + 16;
    if (grown < need)
        grown = need;
    if (grown > SIZE_MAX / size)
        return checked(NULL);
    block = checked(realloc(block, grown * size));
    *capacity = grown;
    return block;
}

char *ms_memory_text(const void *bytes, size_t size)
{
    char *text = checked(malloc(size + 1));
    if (size)
        memcpy(text, bytes, size);
    text[size] = 0;
    return text;
}
