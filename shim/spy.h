// SPDX-License-Identifier: MIT
// The only door for hooks. A hook asks ms_spy_enter whether this call is to be recorded, brackets
// the real call with ms_spy_before and ms_spy_after, and hands the event to ms_spy_record.
#ifndef MEMSPY_SPY_H
#define MEMSPY_SPY_H

#include "kernel.h"
#include "path.h"
#include "ring.h"
#include "thread.h"

// One hooked call.
struct ms_call {
    struct ms_tls *tls;
    uint64_t start; // ticks, where timed
    uint64_t cost;
    uint8_t weight_log2;
    uint8_t outer; // the thread's state when the call came in
    bool timed;
};

// Attaches the calling thread: starts recording in this process if that is still to be done.
// Returns false when nothing is to be recorded; the hook then only forwards.
bool ms_spy_attach(struct ms_tls *t);

extern MS_HIDDEN uint8_t ms_spy_tick_shift;

// Whether the call is to be recorded.
MS_INLINE bool ms_spy_enter(struct ms_call *c)
{
    c->tls = &ms_tls;
    c->outer = c->tls->place.state;
    return MS_LIKELY(ms_thread_attached(c->tls)) || ms_spy_attach(c->tls);
}

// In the real call. In exact mode no call is quick, and system calls are dispatched.
static const union ms_place ms_place_real = {.state = MS_REAL};

MS_INLINE void ms_spy_go(struct ms_tls *t)
{
    t->place.word = ms_place_real.word;
}

// Out of it: what it asked of the kernel is kept until the event is recorded.
MS_INLINE void ms_spy_back(struct ms_tls *t)
{
    t->place.selector = 0;
    t->place.state = MS_SPY;
}

// Sets the mark behind the predicted cache hits that are to pass untimed: evenly drawn from 0 to
// 2N - 2, so that one in N is timed on average and no rhythm of the program's falls in step with
// ours. Without a known cache the mark stays where it is, and no call is quick.
MS_INLINE void ms_spy_draw(struct ms_tls *t, struct ms_ring *r)
{
    t->random = t->random * 1664525u + 1013904223u; // Numerical Recipes, "quick and dirty"
    uint64_t pass = (uint64_t)t->random * ((2u << t->timing_log2) - 1) >> 32;
    r->mark = r->next + (ms_path.tcache ? pass * MS_SLOT_WORDS : 0);
}

// Directly before the real call. `cheap` says that it will be a thread-cache hit as far as one
// can see: such calls are timed one in 2^n, all others always.
MS_INLINE void ms_spy_before(struct ms_call *c, bool cheap)
{
    struct ms_tls *t = c->tls;
    struct ms_ring *ring = &t->thread->ring;
    c->timed = !cheap || ring->next >= ring->mark;
    c->weight_log2 = 0;
    c->start = 0;
    if (MS_UNLIKELY(c->timed && cheap)) {
        ms_spy_draw(t, ring);
        c->weight_log2 = (uint8_t)t->timing_log2;
    }
    ms_spy_go(t);
    if (MS_UNLIKELY(ms_kernel_exact))
        ms_kernel_arm(t);
    if (c->timed)
        c->start = ms_sys_ticks();
}

// Directly after it.
MS_INLINE void ms_spy_after(struct ms_call *c)
{
    c->cost = c->timed ? ms_sys_ticks() - c->start : 0;
    ms_spy_back(c->tls);
}

// Out of line: the buffer is full, or the process has become another in the meantime.
void ms_spy_record_slow(struct ms_call *c, const struct ms_event *e);

// Records the call and ends it. The event's kind, path, addresses and sizes are filled in.
MS_INLINE void ms_spy_record(struct ms_call *c, struct ms_event *e)
{
    struct ms_tls *t = c->tls;
    if (c->timed) {
        e->attr |= MS_ATTR_TIMED;
        e->start = c->start >> ms_spy_tick_shift;
        e->cost = c->cost;
        e->weight_log2 = c->weight_log2;
    }
    if (MS_UNLIKELY(!ms_thread_attached(t) || !ms_ring_put(&t->thread->ring, e, t->base)))
        ms_spy_record_slow(c, e);
    t->place.state = c->outer == MS_SPY ? MS_SPY : MS_IDLE;
}

// The hot path, of calls that are predicted to be thread-cache hits and need no time. The ring when
// the thread may go it, else NULL: the ring is closed in a thread that is not attached and in a
// child, and the mark is reached where no cache is known. The place is left as it is.
MS_INLINE struct ms_ring *ms_spy_quick(const struct ms_tls *t)
{
    struct ms_thread *thread = t->thread;
    if (MS_LIKELY(thread != NULL && thread->ring.next < thread->ring.mark))
        return &thread->ring;
    return NULL;
}

// Stores the slot of an untimed event whose fields fit it. False when the long way has to be
// taken: the buffer is full, or a signal handler forked meanwhile.
MS_INLINE bool ms_spy_put(
        struct ms_ring *r, uint64_t word0, uint64_t word1, uint64_t word2, uint64_t word3)
{
    uint64_t *slot = ms_sys_take(&r->next, MS_SLOT_WORDS);
    if (MS_UNLIKELY(slot >= r->end)) {
        ms_sys_take(&r->next, -MS_SLOT_WORDS);
        return false;
    }
    slot[1] = word1;
    slot[2] = word2;
    if (word3 != 0) // it is already
        slot[3] = word3;
    __atomic_store_n(&slot[0], word0, __ATOMIC_RELEASE);
    __atomic_store_n(&r->done, slot + MS_SLOT_WORDS, __ATOMIC_RELEASE);
    return true;
}

// The call is over and leaves no event.
MS_INLINE void ms_spy_leave(struct ms_call *c)
{
    c->tls->place.state = MS_IDLE;
}

// Counts a call that is no event of its own.
void ms_spy_tally(struct ms_call *c, enum ms_tally what);

// Makes sure that the thread's buffer has some room: in a vfork child it cannot be sealed.
void ms_spy_make_room(void);

#endif
