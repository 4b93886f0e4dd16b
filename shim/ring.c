// SPDX-License-Identifier: MIT
// Owns the walk over a buffer when it is sealed. Context: the owning thread, signals blocked.
#include "ring.h"

// The first two bytes of a slot: kind and attr. Nearly all slots are of the few kinds below; there
// they are constants to the compiler, which folds most of the encoder away.
#define HEAD(kind, attr) ((unsigned)(kind) | (unsigned)(attr) << 8)
#define QUICK_MALLOC     HEAD(MS_KIND_MALLOC, MS_ALLOC_TCACHE)
#define QUICK_FREE       HEAD(MS_KIND_FREE, MS_FREE_TCACHE)
#define TIMED_MALLOC     HEAD(MS_KIND_MALLOC, MS_ALLOC_TCACHE | MS_ATTR_TIMED)
#define TIMED_FREE       HEAD(MS_KIND_FREE, MS_FREE_TCACHE | MS_ATTR_TIMED)
#define ARENA_MALLOC     HEAD(MS_KIND_MALLOC, MS_ALLOC_ARENA | MS_ATTR_TIMED)
#define ARENA_FREE       HEAD(MS_KIND_FREE, MS_FREE_ARENA | MS_ATTR_TIMED)

// What a buffer is encoded into.
struct target {
    struct ms_encoder *encoder;
    struct ms_counters *counters;
    uint64_t base;
    uint64_t floor;
};

// Adds the event of a slot that has no second one and whose head is `head`, a constant.
MS_INLINE void add_as(const struct target *x, const uint64_t *slot, unsigned head)
{
    struct ms_event e = {.kind = (uint8_t)head,
            .attr = (uint8_t)(head >> 8),
            .ptr = slot[0] >> 16,
            .size = slot[1] & MS_LOW48,
            .usable = (slot[1] & MS_LOW48) + (slot[1] >> 48),
            .caller = slot[2] & MS_LOW48};
    if (e.attr & MS_ATTR_TIMED) {
        e.weight_log2 = (uint8_t)(slot[2] >> 48);
        e.start = x->base + (slot[3] & MS_LOW40);
        e.cost = slot[3] >> 40;
    }
    ms_columns_put(x->encoder, &e);
    ms_counters_add(x->counters, &e, x->floor, 1);
}

// Whether an event can be written: the buffer is the program's memory too, and what a stray store
// of its own made of one slot must not cost the others.
static bool is_sound(const struct ms_event *e)
{
    return ms_kind_fields(e->kind) != 0 && e->weight_log2 <= 15 && e->align_log2 <= 63;
}

// Adds an event of any kind. Returns the slots it took, 0 for a hole.
static unsigned add_other(const struct target *x, const uint64_t *slot, size_t left)
{
    struct ms_event e;
    unsigned taken = ms_slot_load(slot, left, x->base, &e);
    if (taken != 0 && !is_sound(&e))
        return 0;
    if (taken != 0) {
        ms_columns_put(x->encoder, &e);
        ms_counters_add(x->counters, &e, x->floor, 1);
    }
    return taken;
}

// Adds the event of a slot if it is of one of the common forms.
MS_INLINE bool add_common(const struct target *x, const uint64_t *slot)
{
    unsigned head = (uint16_t)slot[0];
    if (MS_UNLIKELY((slot[2] >> 48 & 0xf0) != 0)) // the weight is odd
        return false;
    if (head == QUICK_MALLOC)
        add_as(x, slot, QUICK_MALLOC);
    else if (head == QUICK_FREE)
        add_as(x, slot, QUICK_FREE);
    else if (head == ARENA_FREE)
        add_as(x, slot, ARENA_FREE);
    else if (head == ARENA_MALLOC)
        add_as(x, slot, ARENA_MALLOC);
    else if (head == TIMED_MALLOC)
        add_as(x, slot, TIMED_MALLOC);
    else if (head == TIMED_FREE)
        add_as(x, slot, TIMED_FREE);
    else
        return false;
    return true;
}

// Whether the slot is one of the two kinds that runs are made of: without time, so that loops
// repeat them to the bit.
MS_INLINE bool is_quick(const uint64_t *slot)
{
    return (uint16_t)slot[0] == QUICK_MALLOC || (uint16_t)slot[0] == QUICK_FREE;
}

MS_INLINE bool is_same_slot(const uint64_t *a, const uint64_t *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

// How many slots from `slot` on repeat the quick slots `period` before them.
static uint32_t repeated(const uint64_t *slot, const uint64_t *end, unsigned period)
{
    const uint64_t *at = slot;
    while (at < end && is_same_slot(at, at - (size_t)period * MS_SLOT_WORDS))
        at += MS_SLOT_WORDS;
    return (uint32_t)(at - slot) / MS_SLOT_WORDS;
}

// Counts a quick slot's event `times` times more.
static void count_again(struct ms_counters *counters, const uint64_t *slot, uint64_t times)
{
    struct ms_event e = {0};
    ms_slot_load(slot, 1, 0, &e);
    ms_counters_add(counters, &e, 0, times);
}

// A run that begins at `slot`, where `quick` slots before it were quick ones. Returns the number of
// slots it takes; 0 when there is none that is worth it.
static uint32_t add_run(
        const struct target *x, const uint64_t *slot, const uint64_t *end, uint32_t quick)
{
    for (unsigned period = 2; period <= MS_RUN_PERIOD && quick >= period; period += 2) {
        uint32_t length = repeated(slot, end, period);
        if (length < period)
            continue;
        ms_columns_put_run(x->encoder, period, length);
        for (unsigned i = 0; i < period; i++)
            count_again(x->counters, slot - (size_t)(period - i) * MS_SLOT_WORDS,
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

uint64_t ms_ring_encode(const uint64_t *slots, uint32_t count, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor)
{
    const struct target x = {encoder, counters, base, floor};
    const uint64_t *end = slots + (size_t)count * MS_SLOT_WORDS;
    uint64_t holes = 0, holes_behind = 0;
    uint32_t quick = 0; // quick slots directly before `slot`
    for (const uint64_t *slot = slots; slot < end;) {
        uint32_t taken = 0;
        if (MS_UNLIKELY(may_begin_run(slot, quick)))
            taken = add_run(&x, slot, end, quick);
        if (MS_LIKELY(taken == 0))
            taken = MS_LIKELY(add_common(&x, slot))
                            ? 1
                            : add_other(&x, slot, (size_t)(end - slot) / MS_SLOT_WORDS);
        quick = is_quick(slot) ? quick + taken : 0;
        // Empty slots at the end were never taken: an event that needs two found one left. The
        // second slot of an unfinished event is no loss of its own.
        holes += taken != 0 ? holes_behind : 0;
        holes_behind = taken != 0 ? 0 : holes_behind + ((uint8_t)slot[0] != MS_KIND_EXT);
        slot += (size_t)(taken + (taken == 0)) * MS_SLOT_WORDS;
    }
    return holes;
}
