// SPDX-License-Identifier: MIT
// Events for tests: random ones of every kind and width, and the stream of a program with a live
// heap. Both keep the rule that a field which a kind does not have is 0.
#ifndef MEMSPY_TESTS_EVENTS_H
#define MEMSPY_TESTS_EVENTS_H

#include <memspy/event.h>

#include "guard.h"

static inline bool events_same(const struct ms_event *a, const struct ms_event *b)
{
    return a->kind == b->kind && a->attr == b->attr && a->align_log2 == b->align_log2 &&
           a->weight_log2 == b->weight_log2 && a->ptr == b->ptr && a->size == b->size &&
           a->usable == b->usable && a->caller == b->caller && a->aux == b->aux &&
           a->start == b->start && a->cost == b->cost;
}

static inline uint8_t events_kind(uint64_t *state)
{
#define EVENTS_NUMBER(name, number, text, class, fields) number,
    static const uint8_t kinds[] = {MS_EVENT_KINDS(EVENTS_NUMBER)};
#undef EVENTS_NUMBER
    return kinds[guard_random(state) % (sizeof kinds)];
}

// A random event whose fields have any width that the format can carry. Starts lie within 2^40 of
// `base`.
static inline struct ms_event events_random(uint64_t *state, uint64_t base)
{
    struct ms_event e = {.kind = events_kind(state)};
    unsigned fields = ms_kind_fields(e.kind);
    e.attr = (uint8_t)(guard_random(state) & ~(uint64_t)MS_ATTR_EXT);
    if (fields & MS_F_PTR)
        e.ptr = guard_random_wide(state);
    if (fields & MS_F_SIZE)
        e.size = guard_random_wide(state);
    // Without a size, usable has 63 bits.
    if (fields & MS_F_USABLE)
        e.usable = guard_random_wide(state) >> !(fields & MS_F_SIZE);
    if (fields & MS_F_CALLER)
        e.caller = guard_random_wide(state) & MS_LOW48;
    if (fields & MS_F_AUX)
        e.aux = guard_random(state) & 1 ? guard_random_wide(state) : 0;
    if (fields & MS_F_ALIGN)
        e.align_log2 = (uint8_t)(guard_random(state) & 63);
    if (e.attr & MS_ATTR_TIMED) {
        e.start = base + (guard_random_wide(state) & MS_LOW40);
        e.cost = guard_random_wide(state) & MS_LOW40;
        e.weight_log2 = (uint8_t)(guard_random(state) & 15);
    }
    return e;
}

#define EVENTS_HEAP 64

// A program's heap: blocks in use, and one stack of free blocks for each of four sizes.
struct events_heap {
    uint64_t state;
    uint64_t clock;
    uint64_t top;
    uint64_t used[EVENTS_HEAP]; // addresses; the size class is the address' index modulo 4
    uint64_t cache[4][EVENTS_HEAP];
    unsigned cached[4];
};

static inline void events_heap_open(struct events_heap *h, uint64_t seed, uint64_t base)
{
    memset(h, 0, sizeof *h);
    h->state = seed;
    h->clock = base;
    h->top = UINT64_C(0x5581c0a012a0);
}

static inline void events_heap_time(struct events_heap *h, struct ms_event *e)
{
    h->clock += 20 + (guard_random(&h->state) & 63);
    if (guard_random(&h->state) & 3)
        return;
    e->attr |= MS_ATTR_TIMED;
    e->start = h->clock;
    e->cost = 25 + (guard_random_wide(&h->state) & 0xfff);
    e->weight_log2 = (uint8_t)(guard_random(&h->state) & 4);
}

// The next event: a malloc into an empty place, or the free of what is there, last in first out
// within each size.
static inline struct ms_event events_heap_next(struct events_heap *h)
{
    unsigned place = (unsigned)(guard_random(&h->state) % EVENTS_HEAP);
    unsigned class = place % 4;
    uint64_t usable = 24 + 16 * (uint64_t) class;
    struct ms_event e = {.usable = usable};
    e.caller = UINT64_C(0x5581bf001000) + 16 * (guard_random(&h->state) % 9);
    if (h->used[place]) {
        e.kind = MS_KIND_FREE;
        e.attr = MS_FREE_TCACHE;
        e.ptr = h->used[place];
        h->used[place] = 0;
        h->cache[class][h->cached[class]++] = e.ptr;
    } else {
        e.kind = MS_KIND_MALLOC;
        e.size = usable - guard_random(&h->state) % 16;
        if (h->cached[class]) {
            e.attr = MS_ALLOC_TCACHE;
            e.ptr = h->cache[class][--h->cached[class]];
        } else {
            e.attr = MS_ALLOC_ARENA;
            e.ptr = h->top;
            h->top += usable + 8;
        }
        h->used[place] = e.ptr;
    }
    events_heap_time(h, &e);
    return e;
}

#endif
