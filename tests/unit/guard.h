// SPDX-License-Identifier: MIT
// Buffers whose end lies against a page that faults: an access one byte too far ends the test.
// Also the tests' random numbers, the same in every run.
#ifndef MEMSPY_TESTS_GUARD_H
#define MEMSPY_TESTS_GUARD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_PAGE ((size_t)4096)

// A buffer of `size` bytes at `bytes`, which end where the guard page begins.
struct guard {
    uint8_t *map;
    size_t map_size;
    uint8_t *bytes;
    size_t size;
};

static inline struct guard guard_make(size_t size)
{
    size_t body = (size + GUARD_PAGE - 1) / GUARD_PAGE * GUARD_PAGE;
    struct guard g = {.map_size = body + GUARD_PAGE, .size = size};
    void *map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect((uint8_t *)map + body, GUARD_PAGE, PROT_NONE) != 0)
        abort();
    g.map = (uint8_t *)map;
    g.bytes = g.map + body - size;
    return g;
}

static inline void guard_free(struct guard *g)
{
    munmap(g->map, g->map_size);
    memset(g, 0, sizeof *g);
}

// Shortens the buffer to its first `size` bytes, moved to the guard page.
static inline void guard_cut(struct guard *g, const void *from, size_t size)
{
    uint8_t *end = g->map + g->map_size - GUARD_PAGE;
    g->bytes = end - size;
    g->size = size;
    if (size)
        memmove(g->bytes, from, size);
}

// xorshift64*, Vigna 2016.
static inline uint64_t guard_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

// A random value of a random width of 0 to 64 bits: small ones are as frequent as large ones.
static inline uint64_t guard_random_wide(uint64_t *state)
{
    unsigned bits = (unsigned)(guard_random(state) % 65);
    uint64_t value = guard_random(state);
    return bits == 0 ? 0 : value >> (64 - bits);
}

#endif
