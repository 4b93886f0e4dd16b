// SPDX-License-Identifier: MIT
// What both programs assume of the compiler: attributes, branch hints, and the byte order.
// Everything below include/memspy is header-only and needs nothing but <string.h>, so that it can
// run inside any process at any time (any thread, signal handler, vfork child, before main).
#ifndef MEMSPY_BASE_H
#define MEMSPY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MS_LIKELY(x)   __builtin_expect(!!(x), 1)
#define MS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MS_INLINE      static inline __attribute__((always_inline))
// For declarations of the shim's own objects: reached without the global offset table.
#define MS_HIDDEN __attribute__((visibility("hidden")))
#define MS_UNUSED __attribute__((unused))

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "memspy writes little-endian traces by plain stores and knows only little-endian machines"
#endif

// value rounded up to a multiple of align, which is a power of two.
MS_INLINE uint64_t ms_align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

#endif
