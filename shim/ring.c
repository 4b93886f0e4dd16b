// SPDX-License-Identifier: MIT
// Owns the walk over a buffer when it is sealed. Context: the owning thread, signals blocked.
#include "ring.h"

// The first two bytes of the slots that nearly all are: thread-cache hits without a time. Their
// kind and attr are constants to the compiler here, which folds most of the encoder away.
#define QUICK(kind, path) ((unsigned)(kind) | (unsigned)(path) << 8)
#define QUICK_MALLOC      QUICK(MS_KIND_MALLOC, MS_ALLOC_TCACHE)
#define QUICK_FREE        QUICK(MS_KIND_FREE, MS_FREE_TCACHE)

// Adds the event of a quick slot `times` times to the counters, and once to the encoder if given.
// Returns the number of slots used: 1, or 0 when it is none of the quick kinds.
MS_INLINE unsigned add_quick(const uint64_t *slot, struct ms_encoder *encoder,
        struct ms_counters *counters, uint64_t times)
{
    struct ms_event e = {.ptr = slot[0] >> 16,
            .size = slot[1] & MS_LOW48,
            .usable = (slot[1] & MS_LOW48) + (slot[1] >> 48),
            .caller = slot[2] & MS_LOW48};
    if ((uint16_t)slot[0] == QUICK_FREE) {
        e.kind = MS_KIND_FREE;
        e.attr = MS_FREE_TCACHE;
        if (encoder != NULL)
            ms_columns_put(encoder, &e);
        ms_counters_add(counters, &e, 0, times);
        return 1;
    }
    if ((uint16_t)slot[0] == QUICK_MALLOC) {
        e.kind = MS_KIND_MALLOC;
        e.attr = MS_ALLOC_TCACHE;
        if (encoder != NULL)
            ms_columns_put(encoder, &e);
        ms_counters_add(counters, &e, 0, times);
        return 1;
    }
    return 0;
}

MS_INLINE bool is_same_slot(const uint64_t *a, const uint64_t *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

// How many slots from `at` on repeat the quick slots `period` before them.
static uint32_t repeated(const uint64_t *slots, uint32_t at, uint32_t count, unsigned period)
{
    uint32_t length = 0;
    while (at + length < count && is_same_slot(slots + (size_t)(at + length) * MS_SLOT_WORDS,
                                          slots + (size_t)(at + length - period) * MS_SLOT_WORDS))
        length++;
    return length;
}

// A run that begins at slot `at`, where `quick` slots before it were quick ones. Returns the
// number of slots it takes; 0 when there is none that is worth it.
static uint32_t add_run(const uint64_t *slots, uint32_t at, uint32_t count, uint32_t quick,
        struct ms_encoder *encoder, struct ms_counters *counters)
{
    for (unsigned period = 2; period <= MS_RUN_PERIOD && quick >= period; period += 2) {
        uint32_t length = repeated(slots, at, count, period);
        if (length < period)
            continue;
        ms_columns_put_run(encoder, period, length);
        for (unsigned i = 0; i < period; i++)
            add_quick(slots + (size_t)(at - period + i) * MS_SLOT_WORDS, NULL, counters,
                    (length - i + period - 1) / period);
        return length;
    }
    return 0;
}

MS_INLINE bool may_begin_run(const uint64_t *slot, uint32_t quick)
{
    return (quick >= 2 && slot[0] == slot[-2 * MS_SLOT_WORDS]) ||
           (quick >= 4 && slot[0] == slot[-4 * MS_SLOT_WORDS]);
}

// Adds an event that is not quick. Returns the slots it took, 0 for a hole.
static unsigned add_other(const uint64_t *slot, size_t left, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor)
{
    struct ms_event e;
    unsigned taken = ms_slot_load(slot, left, base, &e);
    if (taken != 0) {
        ms_columns_put(encoder, &e);
        ms_counters_add(counters, &e, floor, 1);
    }
    return taken;
}

uint64_t ms_ring_encode(const uint64_t *slots, uint32_t count, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor)
{
    uint64_t holes = 0, holes_behind = 0;
    uint32_t quick = 0; // quick slots directly before `at`
    for (uint32_t at = 0; at < count;) {
        const uint64_t *slot = slots + (size_t)at * MS_SLOT_WORDS;
        uint32_t taken = 0;
        if (MS_UNLIKELY(may_begin_run(slot, quick)))
            taken = add_run(slots, at, count, quick, encoder, counters);
        if (taken == 0)
            taken = add_quick(slot, encoder, counters, 1);
        quick += taken;
        if (MS_UNLIKELY(taken == 0)) {
            taken = add_other(slot, count - at, base, encoder, counters, floor);
            quick = 0;
        }
        // Empty slots at the end were never taken: an event that needs two found one left.
        holes += taken != 0 ? holes_behind : 0;
        holes_behind = taken != 0 ? 0 : holes_behind + 1;
        at += taken + (taken == 0);
    }
    return holes;
}
