// SPDX-License-Identifier: MIT
// Owns the life of threads as memspy sees it: a thread gets memory and a buffer of its own when it
// records its first event, and gives the buffer back when it ends. Context: the thread itself,
// signals blocked, state MS_SPY.
#define _GNU_SOURCE
#include "attach.h"

#include "conf.h"
#include "kernel.h"
#include "seal.h"
#include "sink.h"
#include "sys.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

static pthread_key_t key; // its destructor ends a thread's recording
static bool key_made;

static uint64_t now_units(void)
{
    return ms_sys_ticks() >> ms_sink_header->tick_shift;
}

static uint32_t this_process(void)
{
    return __atomic_load_n(&ms_wiped.word, __ATOMIC_RELAXED) - 1;
}

static bool give_buffer(struct ms_thread *thread, uint64_t base)
{
    struct ms_live *live = ms_sink_take_live();
    if (live == NULL)
        return false;
    live->sequence = thread->sequence;
    live->base = base;
    memcpy(live->tally, thread->counters.tally, sizeof live->tally);
    live->tid = (uint32_t)ms_sys_tid();
    __atomic_store_n(
            &live->owner, (uint64_t)thread->process << 32 | thread->index, __ATOMIC_RELEASE);
    thread->live = live;
    return true;
}

// The copy of the parent's memory becomes the child's own. The parent's live block stays mapped for
// now, since a signal handler that forked may return into a store to it; the one that was inherited
// before that goes.
static void forget_parent(struct ms_thread *thread)
{
    struct ms_live *stale = thread->live;
    if (thread->stale != NULL)
        ms_sys_unmap(thread->stale, MS_LIVE_SIZE);
    const size_t ring = sizeof thread->ring_pages; // which are wiped already
    memset((char *)thread + ring, 0, sizeof *thread - ring);
    thread->stale = stale;
}

static struct ms_thread *make_memory(void)
{
    struct ms_thread *thread = ms_sys_map(sizeof *thread);
    if (thread != NULL &&
            ms_sys_advise(&thread->ring, sizeof thread->ring_pages, MADV_WIPEONFORK) != 0) {
        ms_sys_unmap(thread, sizeof *thread);
        return NULL;
    }
    return thread;
}

// The thread's own memory, kept across an exec that failed; in the child of a fork the parent's
// copy begins anew.
static struct ms_thread *own_memory(struct ms_tls *t)
{
    struct ms_thread *thread = t->thread;
    if (thread == NULL)
        thread = make_memory();
    else if (thread->process != this_process())
        forget_parent(thread);
    if (thread != NULL && thread->process == 0) {
        thread->process = this_process();
        thread->index = ms_sink_new_thread();
        thread->sequence = 1;
    }
    return thread;
}

bool ms_attach_thread(struct ms_tls *t)
{
    uint64_t base = now_units();
    t->thread = own_memory(t);
    if (t->thread == NULL || !give_buffer(t->thread, base)) {
        __atomic_fetch_add(&ms_sink_header->lost_threads, 1, __ATOMIC_RELAXED);
        ms_seal_stop("no space left for the trace");
        return false;
    }
    uint64_t *slots = (uint64_t *)(t->thread->live + 1);
    t->thread->ring = (struct ms_ring){slots, slots + MS_LIVE_SLOTS * MS_SLOT_WORDS, slots, slots};
    t->base = base;
    t->timing_log2 = ms_conf.timing_log2;
    t->random = (uint32_t)base * 2654435761u;
    ms_kernel_attach(t);
    if (key_made && t->exited == 0)
        pthread_setspecific(key, t->thread);
    t->owner = this_process();
    return true;
}

void ms_attach_park(struct ms_tls *t)
{
    if (t->owner != this_process() || !ms_thread_attached(t) || !ms_seal(t, t->base))
        return;
    t->owner = 0;
    t->thread->ring = (struct ms_ring){0};
    memcpy(t->thread->counters.tally, t->thread->live->tally, sizeof t->thread->live->tally);
    // Before it is unmapped: another thread's child would take it for its parent's.
    struct ms_live *live = t->thread->live;
    t->thread->live = NULL;
    ms_sink_give_live(live);
}

static void detach(struct ms_tls *t)
{
    struct ms_thread *thread = t->thread;
    ms_attach_park(t);
    t->thread = NULL;
    t->owner = 0;
    ms_sys_unmap(thread, sizeof *thread);
}

// A destructor of thread-specific data. Others may still allocate and free after it, so it asks
// to be run again until the last round that libc makes (pthread_key_create(3)).
static void thread_exit(void *value)
{
    struct ms_tls *t = &ms_tls;
    struct ms_thread *thread = value;
    if (t->thread != thread || !ms_thread_attached(t))
        return;
    if (++thread->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, thread);
        return;
    }
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    t->exited = MS_EXITED;
    detach(t);
    t->place.state = MS_IDLE;
    ms_sys_restore_signals(signals);
}

// --- what comes after the last destructor ------------------------------------------------------

static struct ms_thread *late_thread; // whoever holds ms_wiped.late

bool ms_attach_late_begin(void)
{
    struct ms_tls *t = &ms_tls;
    for (int i = 0; __atomic_exchange_n(&ms_wiped.late, 1, __ATOMIC_ACQUIRE) != 0; i++) {
        if (i == 1000) {
            ms_sink_lost(1);
            return false;
        }
        ms_sys_yield();
    }
    t->exited = MS_EXITED_LATE;
    t->thread = late_thread;
    return true;
}

void ms_attach_late_end(void)
{
    struct ms_tls *t = &ms_tls;
    if (t->exited != MS_EXITED_LATE)
        return;
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    if (ms_thread_attached(t))
        ms_attach_park(t);
    late_thread = t->thread;
    t->thread = NULL;
    t->owner = 0;
    t->exited = MS_EXITED;
    __atomic_store_n(&ms_wiped.late, 0, __ATOMIC_RELEASE);
    t->place.state = MS_IDLE;
    ms_sys_restore_signals(signals);
}

void ms_attach_init(void)
{
    key_made = pthread_key_create(&key, thread_exit) == 0;
}
