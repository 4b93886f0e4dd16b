// SPDX-License-Identifier: MIT
// Owns what of the door is not the hot path, which is inline in spy.h.
//
// Invariants. A thread writes only to its own live block. Sealing and attaching run with all
// signals blocked, in state MS_SPY: a hooked call that enters then (none but a second thread's can)
// forwards. errno is never touched: system calls are raw, and of libc only functions that report by
// their result are called.
//
// File map of the shim:
//   hook_*     the exported functions, nothing else is exported
//   spy        the door; spy.h: the hot path          life   processes
//   attach     the life of threads                    thread   what a thread owns
//   seal       full buffers become blocks
//   ring       a thread's buffer; its encoding        sink, sink_open   the trace file
//   path, path_probe   by which path glibc served a call
//   kernel     exact mode                             maps   executable mappings
//   pack       zstd and working memory                env    the environment of programs started
//   lineage    calls that make processes              program what a program's file is
//   note       blocks of properties                   death  fatal signals
//   proc       /proc                                  conf   the configuration
//   tls        the thread-local object                real   the real functions, bootstrap pool
//   sys        system calls, clock, stderr
//
// The life of one malloc: hook_alloc's malloc finds its thread's ring open (one compare), looks at
// the head of the thread cache's bin, calls the real malloc with or without reading the clock
// around it, tells the path from what changed, and stores one 32-byte slot into its live block, a
// shared mapping of the trace: from then on no death of the process can take the event away. When
// the live block is full, its events are turned into columns, compressed and written.
#include "spy.h"

#include "attach.h"
#include "life.h"
#include "real.h"
#include "seal.h"
#include "sink.h"

uint8_t ms_spy_tick_shift;

static void record_kernel(struct ms_event *e)
{
    struct ms_tls *t = &ms_tls;
    struct ms_call call = {
            .tls = t, .start = e->start, .cost = e->cost, .outer = MS_REAL, .timed = true};
    t->place.state = MS_SPY;
    ms_spy_record(&call, e);
    t->place.state = MS_REAL;
}

static bool attach(struct ms_tls *t)
{
    if (!ms_life_prepare(record_kernel))
        return false;
    ms_spy_tick_shift = (uint8_t)ms_sink_header->tick_shift;
    return ms_attach_thread(t);
}

bool ms_spy_attach(struct ms_tls *t)
{
    if (ms_wiped.word == MS_WORD_OFF) {
        ms_sink_lost(1);
        return false;
    }
    // What libc allocates for memspy itself, while it starts, is no event of the program's. A child
    // that was forked by a signal handler within memspy is not inside of it.
    if (t->place.state == MS_SPY && (ms_wiped.busy != 0 || ms_wiped.word != MS_WORD_NONE))
        return false;
    // Before libc has its environment nothing can begin.
    if (!ms_real_ready() || !ms_life_may_begin()) {
        ms_boot_calls++;
        return false;
    }
    uint8_t outer = t->place.state;
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    bool attached = attach(t);
    t->place.state = outer;
    ms_sys_restore_signals(signals);
    return attached;
}

void ms_spy_record_slow(struct ms_call *c, const struct ms_event *e)
{
    struct ms_tls *t = c->tls;
    if (!ms_thread_attached(t)) {
        t->place.state = MS_REAL;
        if (!ms_spy_attach(t))
            return;
    } else if (ms_thread_is_storing(t, c->outer)) {
        // In a signal handler. Only one event is given up for a handler that never came back.
        t->thread->ring.done = t->thread->ring.next;
        t->thread->live->tally[MS_TALLY_LOST]++;
        return;
    } else if (t->thread->vfork_depth != 0 && ms_life_is_guest()) {
        // In a vfork child nothing but the filling of slots is allowed.
        t->thread->live->tally[MS_TALLY_LOST]++;
        return;
    }
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    struct ms_ring *ring = &t->thread->ring;
    uint64_t base = e->attr & MS_ATTR_TIMED ? e->start : ms_sys_ticks() >> ms_spy_tick_shift;
    if (!ms_ring_put(ring, e, t->base) && !(ms_seal(t, base) && ms_ring_put(ring, e, t->base)))
        ms_sink_lost(1);
    ms_sys_restore_signals(signals);
}

void ms_spy_tally(struct ms_call *c, enum ms_tally what)
{
    if (ms_thread_attached(c->tls))
        c->tls->thread->live->tally[what]++;
}

void ms_spy_make_room(void)
{
    struct ms_tls *t = &ms_tls;
    const ptrdiff_t room = MS_LIVE_SLOTS / 8 * MS_SLOT_WORDS;
    if (ms_thread_attached(t) && t->thread->ring.end - t->thread->ring.next < room)
        ms_life_park();
    if (!ms_thread_attached(t))
        ms_spy_attach(t);
}
