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

// Slots for e, or NULL when the buffer is full or e's start does not fit it.
MS_INLINE uint64_t *ms_ring_take(struct ms_tls *t, const struct ms_event *e)
{
    uint32_t count = MS_UNLIKELY(ms_slot_needs_ext(e)) ? 2 : 1;
    if (MS_UNLIKELY((e->attr & MS_ATTR_TIMED) && (e->start - t->base) >> 40))
        return NULL;
    uint32_t at = ms_sys_take(&t->used, count);
    if (MS_UNLIKELY(at + count > t->limit))
        return NULL;
    return t->slots + (size_t)at * MS_SLOT_WORDS;
}

// Encodes all whole events of `count` slots and adds them to the counters, their costs less
// `floor`. Returns the number of holes: slots that were taken but not filled, because a signal
// handler that interrupted the store never came back.
uint64_t ms_ring_encode(const uint64_t *slots, uint32_t count, uint64_t base,
        struct ms_encoder *encoder, struct ms_counters *counters, uint64_t floor);

#endif
