// SPDX-License-Identifier: MIT
// What the programs behind the golden traces share: values the compiler cannot see through, so that
// no call is folded away. Compile with -fno-builtin and without optimisation across calls.
#ifndef CALLS_H
#define CALLS_H

#include <stddef.h>
#include <stdint.h>

// The same number, which the compiler takes for unknown.
static inline size_t hidden(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

#endif
