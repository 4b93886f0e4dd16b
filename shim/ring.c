// SPDX-License-Identifier: MIT
// Owns the walk over a buffer when it is sealed. Context: the owning thread, signals blocked.
#include "ring.h"

// The first two bytes of the slots that nearly all are: thread-cache hits without a time. Their
// kind and attr are constants to the compiler here, which folds most of the encoder away.
#define QUICK(kind, path) ((unsigned)(kind) | (unsigned)(path) << 8)

MS_INLINE void add(struct ms_encoder *encoder, struct ms_counters *counters,
        const struct ms_event *e, uint64_t floor)
{
    ms_columns_put(encoder, e);
    ms_counters_add(counters, e, floor);
}

// Returns the number of slots used: 1 or 0.
MS_INLINE unsigned add_quick(
        const uint64_t *slot, struct ms_encoder *encoder, struct ms_counters *counters)
{
    struct ms_event e = {.ptr = slot[0] >> 16,
            .size = slot[1] & MS_LOW48,
            .usable = (slot[1] & MS_LOW48) + (slot[1] >> 48),
            .caller = slot[2] & MS_LOW48};
    if ((uint16_t)slot[0] == QUICK(MS_KIND_FREE, MS_FREE_TCACHE)) {
        e.kind = MS_KIND_FREE;
        e.attr = MS_FREE_TCACHE;
        add(encoder, counters, &e, 0);
        return 1;
    }
    if ((uint16_t)slot[0] == QUICK(MS_KIND_MALLOC, MS_ALLOC_TCACHE)) {
        e.kind = MS_KIND_MALLOC;
        e.attr = MS_ALLOC_TCACHE;
        add(encoder, counters, &e, 0);
        return 1;
    }
    return 0;
}

uint64_t ms_ring_encode(const uint64_t *slots, uint32_t count, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor)
{
    uint64_t holes = 0, holes_behind = 0;
    for (uint32_t at = 0; at < count;) {
        struct ms_event e;
        const uint64_t *slot = slots + (size_t)at * MS_SLOT_WORDS;
        unsigned taken = add_quick(slot, encoder, counters);
        if (MS_UNLIKELY(taken == 0)) {
            taken = ms_slot_load(slot, count - at, base, &e);
            if (taken == 0) {
                holes_behind++;
                at++;
                continue;
            }
            add(encoder, counters, &e, floor);
        }
        // Empty slots at the end were never taken: an event that needs two found one left.
        holes += holes_behind;
        holes_behind = 0;
        at += taken;
    }
    return holes;
}
