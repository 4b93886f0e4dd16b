// SPDX-License-Identifier: MIT
// Owns the life of the process as memspy sees it: start, the child that notices itself, the end.
// The hot path is inline in spy.h.
//
// Invariants. A thread writes only to its own live block. A process's word is its index plus one
// while it records; it is wiped in every child, however made, so that no child takes itself for
// its parent. Sealing and attaching run with all signals blocked, in state MS_SPY: a hooked call
// that enters then (none but a second thread's can) forwards. errno is never touched: system calls
// are raw, and of libc only functions that report by their result are called.
//
// File map of the shim:
//   hook_*     the exported functions, nothing else is exported
//   spy        the life of processes; spy.h: the hot path
//   attach     the life of threads                    thread   what a thread owns
//   seal       full buffers become blocks
//   ring       a thread's buffer; its encoding        sink, sink_open   the trace file
//   path, path_probe   by which path glibc served a call
//   kernel     exact mode                             maps   executable mappings
//   pack       zstd and working memory                env    the environment of programs started
//   proc       /proc                                  conf   the configuration
//   tls        the thread-local object                real   the real functions, bootstrap pool
//   sys        system calls, clock, stderr
//
// The life of one malloc: hook_alloc's malloc finds its thread attached (one compare), looks at
// the head of the thread cache's bin, calls the real malloc with or without reading the clock
// around it, tells the path from what changed, and stores one 32-byte slot into its live block, a
// shared mapping of the trace: from then on no death of the process can take the event away. When
// the live block is full, its events are turned into columns, compressed and written.
#define _GNU_SOURCE
#include "spy.h"

#include "attach.h"
#include "conf.h"
#include "env.h"
#include "kernel.h"
#include "maps.h"
#include "pack.h"
#include "process.h"
#include "real.h"
#include "seal.h"
#include "sink.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Weak: glibc's alone.
int on_exit(void (*function)(int, void *), void *argument) __attribute__((weak));

union ms_wiped_page ms_wiped_page __attribute__((aligned(65536)));
uint8_t ms_spy_tick_shift;

static bool started;  // this image has begun to record, in this process or an ancestor
static uint32_t self; // index of this process, or of the parent until a child noticed
static int image_pid; // of the last process that noticed itself: this one, or a child's parent

// --- processes ---------------------------------------------------------------------------------

static bool write_process(enum ms_origin origin, uint32_t parent)
{
    struct ms_pack *pack = ms_pack_take();
    if (pack == NULL)
        return false;
    struct ms_writer out = {ms_pack_raw(pack), ms_pack_raw(pack) + MS_PACK_RAW, false};
    ms_process_describe(&out, origin, parent);
    struct ms_block *block = ms_pack_bytes(pack, (size_t)(out.at - ms_pack_raw(pack)));
    bool written = false;
    if (block != NULL) {
        block->type = MS_BLOCK_PROCESS;
        block->process = self;
        written = ms_sink_write(block) == 0;
    }
    if (written && origin != MS_ORIGIN_FORK)
        ms_seal_modules(pack, self);
    ms_pack_give(pack);
    return written;
}

static void at_exit(int status, void *unused)
{
    (void)unused;
    ms_spy_end(MS_END_EXIT, status, NULL);
}

// Where libc (musl) has no on_exit, the status stays unknown.
static void at_exit_without_status(void)
{
    ms_spy_end(MS_END_EXIT, MS_STATUS_UNKNOWN, NULL);
}

static void watch_exit(void)
{
    if (on_exit != NULL)
        on_exit(at_exit, NULL);
    else
        atexit(at_exit_without_status);
}

static void record_kernel(struct ms_event *e)
{
    struct ms_tls *t = &ms_tls;
    struct ms_call call = {
            .tls = t, .start = e->start, .cost = e->cost, .outer = MS_REAL, .timed = true};
    t->place.state = MS_SPY;
    ms_spy_record(&call, e);
    t->place.state = MS_REAL;
}

static bool open_trace(enum ms_origin *origin)
{
    *origin = MS_ORIGIN_EXEC;
    if (ms_conf.join != NULL) {
        // A trace that is gone or out of reach (rights dropped, another root) is no reason for
        // each process of the tree to begin one of its own: nothing is recorded, silently.
        if (!ms_sink_join(ms_conf.join))
            return false;
        ms_sys_clock = ms_sink_header->clock;
        return true;
    }
    *origin = MS_ORIGIN_INITIAL;
    ms_sys_clock_init();
    return ms_sink_create(ms_conf.out, ms_conf.out_given, ms_conf_value(environ, "TMPDIR"));
}

static bool start(uint64_t counter, uint64_t nanoseconds)
{
    enum ms_origin origin;
    started = true;
    ms_sys_say_init();
    if (ms_sys_advise(&ms_wiped_page, sizeof ms_wiped_page, MADV_WIPEONFORK) != 0) {
        MS_SAY("this kernel cannot wipe memory in a child (Linux 4.14); recording is off");
        return false;
    }
    if (!ms_conf_init(environ) || !open_trace(&origin))
        return false;
    ms_spy_tick_shift = (uint8_t)ms_sink_header->tick_shift;
    self = ms_sink_new_process();
    // Registered before any other handler, so run after all of them, when the status is known.
    watch_exit();
    ms_attach_init();
    ms_path_init(ms_conf.large_tcache, !ms_conf.huge_heaps);
    ms_process_measure();
    if (ms_conf.exact)
        ms_kernel_init(record_kernel);
    ms_env_install(ms_sink_join_value());
    ms_process_started(counter, nanoseconds);
    return write_process(origin, 0);
}

static bool become_child(uint64_t counter, uint64_t nanoseconds)
{
    uint32_t parent = self;
    self = ms_sink_new_process();
    ms_pack_after_fork();
    ms_maps_after_fork();
    ms_sink_after_fork();
    ms_process_started(counter, nanoseconds);
    return write_process(MS_ORIGIN_FORK, parent);
}

// The process starts, or notices that it is a child. One thread does it, the others wait a little.
static void begin_process(void)
{
    uint64_t counter = ms_sys_counter(), nanoseconds = ms_sys_nanoseconds(CLOCK_MONOTONIC);
    if (__atomic_exchange_n(&ms_wiped.busy, 1, __ATOMIC_ACQUIRE) != 0) {
        for (int i = 0; i < 1000 && ms_wiped.word == MS_WORD_NONE; i++)
            ms_sys_yield();
        return;
    }
    if (__atomic_load_n(&ms_wiped.word, __ATOMIC_ACQUIRE) == MS_WORD_NONE) {
        bool on = !started ? start(counter, nanoseconds)
                           : ms_sink_header != NULL && become_child(counter, nanoseconds);
        if (!on && ms_sink_header != NULL)
            ms_seal_stop("no space left for the trace");
        image_pid = ms_wiped.pid = ms_sys_pid();
        __atomic_store_n(&ms_wiped.word, on ? self + 1 : MS_WORD_OFF, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&ms_wiped.busy, 0, __ATOMIC_RELEASE);
}

// --- the door ----------------------------------------------------------------------------------

static bool attach(struct ms_tls *t)
{
    if (ms_wiped.word == MS_WORD_NONE)
        begin_process();
    uint32_t word = __atomic_load_n(&ms_wiped.word, __ATOMIC_ACQUIRE);
    return word != MS_WORD_NONE && word != MS_WORD_OFF && ms_attach_thread(t);
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
    if (!ms_real_ready() || (!started && environ == NULL)) {
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
    } else if (c->outer == MS_SPY) {
        // A signal handler between another call's taking of a slot and its filling: the buffer
        // cannot be sealed now.
        t->thread->live->tally[MS_TALLY_LOST]++;
        return;
    }
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    uint64_t *slot = ms_ring_take(t, e);
    if (slot == NULL &&
            ms_seal(t, e->attr & MS_ATTR_TIMED ? e->start : ms_sys_ticks() >> ms_spy_tick_shift))
        slot = ms_ring_take(t, e);
    if (slot != NULL)
        ms_slot_store(slot, e, t->base);
    else
        ms_sink_lost(1);
    ms_sys_restore_signals(signals);
}

void ms_spy_tally(struct ms_call *c, enum ms_tally what)
{
    if (ms_thread_attached(c->tls))
        c->tls->thread->live->tally[what]++;
}

static void write_end(unsigned how, int status, const char *path)
{
    struct ms_pack *pack = ms_pack_take();
    if (pack == NULL)
        return;
    struct ms_writer out = {ms_pack_raw(pack), ms_pack_raw(pack) + MS_PACK_RAW, false};
    ms_process_describe_end(&out, how, status, path);
    struct ms_block *block = ms_pack_bytes(pack, (size_t)(out.at - ms_pack_raw(pack)));
    if (block != NULL) {
        block->type = MS_BLOCK_END;
        block->process = self;
        ms_sink_write(block);
    }
    ms_pack_give(pack);
}

void ms_spy_end(unsigned how, int status, const char *path)
{
    struct ms_tls *t = &ms_tls;
    uint32_t word = __atomic_load_n(&ms_wiped.word, __ATOMIC_ACQUIRE);
    bool foreign = word != MS_WORD_NONE && ms_wiped.pid != ms_sys_pid();
    if (word == MS_WORD_OFF || foreign || !started)
        return;
    uint8_t outer = t->place.state;
    // A child of which nothing is known yet. Not one that a vfork of such a child made: that runs
    // in memory which is not its own.
    if (word == MS_WORD_NONE && (ms_sys_parent_pid() != image_pid || !ms_spy_attach(t)))
        return;
    struct ms_sys_signals signals = ms_sys_block_signals();
    t->place.state = MS_SPY;
    if (outer != MS_SPY && how != MS_END_EXEC_FAILED)
        ms_attach_park(t);
    write_end(how, status, path);
    t->place.state = outer;
    ms_sys_restore_signals(signals);
}

// The first constructor: everything before it that calls a hook has started recording already.
__attribute__((constructor(101))) static void load(void)
{
    if (ms_real_init() && !ms_thread_attached(&ms_tls))
        ms_spy_attach(&ms_tls);
}
