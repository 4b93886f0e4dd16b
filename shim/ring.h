// SPDX-License-Identifier: MIT
// The buffer of a thread: taking slots, and turning a full buffer into columns. The only caller of
// the encoder. Taking and storing may happen in any thread or signal handler at any instruction:
// slots are taken by one instruction, and a handler that comes in between takes later ones.
#ifndef MEMSPY_RING_H
#define MEMSPY_RING_H

#include "sys.h"
#include "tls.h"

#include <memspy/columns.h>
#include <memspy/counters.h>
#include <memspy/format.h>

// Stores e, whose start is to be told from `base`. False when the buffer is full or the start does
// not fit it.
MS_INLINE bool ms_ring_put(struct ms_ring *r, const struct ms_event *e, uint64_t base)
{
    ptrdiff_t words = (MS_UNLIKELY(ms_slot_needs_ext(e)) ? 2 : 1) * MS_SLOT_WORDS;
    bool timed = (e->attr & MS_ATTR_TIMED) != 0;
    if (MS_UNLIKELY(timed && (e->start - base) >> 40))
        return false;
    uint64_t *slot = ms_sys_take(&r->next, words);
    if (MS_UNLIKELY(slot + words > r->end)) {
        ms_sys_take(&r->next, -words);
        return false;
    }
    ms_slot_store(slot, e, base);
    __atomic_store_n(&r->done, slot + words, __ATOMIC_RELEASE);
    // What is timed anyway does not bring the mark nearer.
    r->mark += timed ? words : 0;
    return true;
}

// Encodes all whole events of `count` slots and adds them to the counters, their costs less
// `floor`. Returns the number of holes: slots that were taken but not filled, because a signal
// handler that interrupted the store never came back.
uint64_t ms_ring_encode(const uint64_t *slots, uint32_t count, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor);

#endif
