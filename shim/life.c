// SPDX-License-Identifier: MIT
// Owns the process: how it begins to record, how a child finds that it is one, how its end is told.
//
// A process's word is its index plus one while it records; it is wiped in every child, however
// made, so that no child takes itself for its parent. What is done once in a process is done by the
// thread that takes the turn, with all signals blocked and in state MS_SPY.
#define _GNU_SOURCE
#include "life.h"

#include "attach.h"
#include "conf.h"
#include "death.h"
#include "env.h"
#include "maps.h"
#include "note.h"
#include "pack.h"
#include "path.h"
#include "proc.h"
#include "process.h"
#include "real.h"
#include "seal.h"
#include "sink.h"
#include "sys.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Weak: glibc's alone.
int on_exit(void (*function)(int, void *), void *argument) __attribute__((weak));

union ms_wiped_page ms_wiped_page __attribute__((aligned(65536)));
static bool prepared; // atomic: paths can be told, and what that takes is in the trace
static bool started;  // this image has begun to record, in this process or an ancestor
static MS_AFTER_FORK uint32_t self; // index of this process, or of the parent until a child noticed
static MS_AFTER_FORK uint32_t parent; // of this process, if it is a child
static MS_AFTER_FORK int
        image_pid; // of the last process that noticed itself: this one, or a child's parent

static bool is_recording(void)
{
    uint32_t word = __atomic_load_n(&ms_wiped.word, __ATOMIC_ACQUIRE);
    return word != MS_WORD_NONE && word != MS_WORD_OFF;
}

// For blocks about the process: one thread has the turn to write them.
static union {
    struct ms_block block;
    uint8_t bytes[MS_PROCESS_NOTE];
} description;

static bool write_program(enum ms_origin origin)
{
    struct ms_note note;
    ms_note_begin(&note, &description, sizeof description);
    ms_process_describe(&note, origin, 0);
    return ms_note_write(&note, MS_BLOCK_PROCESS, self);
}

static void at_exit(int status, void *unused)
{
    (void)unused;
    ms_life_end(MS_END_EXIT, status);
}

// Where libc (musl) has no on_exit, the status stays unknown.
static void at_exit_without_status(void)
{
    ms_life_end(MS_END_EXIT, MS_STATUS_UNKNOWN);
}

static void at_signal(int signal)
{
    ms_life_end(MS_END_SIGNAL, signal);
}

static void watch_exit(void)
{
    if (on_exit != NULL)
        on_exit(at_exit, NULL);
    else
        atexit(at_exit_without_status);
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
    ms_process_starts();
    ms_process_look();
    ms_sys_say_init();
    if (ms_sys_advise(&ms_wiped_page, sizeof ms_wiped_page, MADV_WIPEONFORK) != 0) {
        MS_SAY("this kernel cannot wipe memory in a child (Linux 4.14); recording is off");
        return false;
    }
    if (!ms_conf_init(environ) || !open_trace(&origin))
        return false;
    self = ms_sink_new_process();
    // Registered before any other handler, so run after all of them, when the status is known.
    watch_exit();
    ms_attach_init();
    ms_death_init(at_signal);
    ms_env_install(ms_sink_join_value(), self, ms_conf.follow);
    ms_process_started(counter, nanoseconds, false);
    ms_wiped.told = 1;
    return write_program(origin);
}

// What is to be said of the child is written with the first thing that it has to tell: now its
// parent writes as well, and each would wait for the other.
static void become_child(uint64_t counter, uint64_t nanoseconds, bool late)
{
    parent = self;
    ms_process_starts();
    self = ms_sink_new_process();
    ms_pack_after_fork();
    ms_maps_after_fork();
    ms_sink_after_fork();
    ms_proc_after_fork();
    ms_env_set_index(self);
    if (ms_sys_pid() == 1)
        ms_death_leave();
    ms_process_started(counter, nanoseconds, late);
}

bool ms_life_tell(void)
{
    _Alignas(struct ms_block) uint8_t memory[192];
    struct ms_note note;
    // Not yet in a child that has not noticed that it is one.
    if (!is_recording() || __atomic_exchange_n(&ms_wiped.told, 1, __ATOMIC_RELAXED) != 0)
        return true;
    ms_note_begin(&note, memory, sizeof memory);
    ms_process_describe(&note, MS_ORIGIN_FORK, parent);
    return ms_note_write(&note, MS_BLOCK_PROCESS, self);
}

// One thread does what is to be done once in a process, the others wait a little.
static bool take_turn(void)
{
    for (int i = 0; i < 1000; i++) {
        if (__atomic_exchange_n(&ms_wiped.busy, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
        ms_sys_yield();
    }
    return false;
}

static void end_turn(void)
{
    __atomic_store_n(&ms_wiped.busy, 0, __ATOMIC_RELEASE);
}

// The process starts, or finds that it is a child, as of the given moment.
static void begin_process(uint64_t counter, uint64_t nanoseconds, bool late)
{
    if (!take_turn())
        return;
    if (__atomic_load_n(&ms_wiped.word, __ATOMIC_ACQUIRE) == MS_WORD_NONE) {
        bool is_child = started;
        bool on = is_child ? ms_sink_header != NULL && !ms_seal_has_stopped()
                           : start(counter, nanoseconds);
        if (is_child && on)
            become_child(counter, nanoseconds, late);
        if (!is_child && !on && ms_sink_header != NULL)
            ms_seal_stop("no space left for the trace");
        image_pid = ms_wiped.pid = ms_sys_pid();
        __atomic_store_n(&ms_wiped.word, on ? self + 1 : MS_WORD_OFF, __ATOMIC_RELEASE);
    }
    end_turn();
}

static void begin_process_now(void)
{
    bool announced = ms_tls.birth != NULL;
    begin_process(ms_sys_counter(), ms_sys_nanoseconds(CLOCK_MONOTONIC), !announced);
}

// What is only needed once something is to be recorded: a short program that allocates nothing does
// not pay for it.
static void prepare(ms_kernel_record *record)
{
    struct ms_note note;
    uint64_t begin = ms_sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    ms_path_init(ms_conf.large_tcache, !ms_conf.huge_heaps);
    ms_process_measure();
    if (ms_conf.exact)
        ms_kernel_init(record);
    struct ms_pack *pack = ms_pack_take();
    if (pack != NULL) {
        ms_seal_modules(pack, self);
        ms_pack_give(pack);
    }
    ms_note_begin(&note, &description, sizeof description);
    ms_process_describe_recording(&note, ms_sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin);
    ms_note_write(&note, MS_BLOCK_PROCESS, self);
}

static bool is_prepared(ms_kernel_record *record)
{
    if (__atomic_load_n(&prepared, __ATOMIC_ACQUIRE))
        return true;
    if (!take_turn())
        return false;
    if (!prepared) {
        prepare(record);
        __atomic_store_n(&prepared, true, __ATOMIC_RELEASE);
    }
    end_turn();
    return true;
}

static bool tell_or_stop(void)
{
    if (ms_life_tell())
        return true;
    ms_seal_stop("no space left for the trace");
    return false;
}

bool ms_life_prepare(ms_kernel_record *record)
{
    if (ms_wiped.word == MS_WORD_NONE)
        begin_process_now();
    return is_recording() && is_prepared(record) && tell_or_stop() && is_recording();
}

bool ms_life_may_begin(void)
{
    return started || environ != NULL;
}

// --- processes that others make, replace, end ----------------------------------------------------

// The thread works for memspy, undisturbed by signals, and then goes on where it was.
struct inside {
    struct ms_sys_signals signals;
    union ms_place place;
};

static struct inside go_inside(void)
{
    struct inside outer = {ms_sys_block_signals(), ms_tls.place};
    ms_tls.place.selector = 0;
    ms_tls.place.state = MS_SPY;
    return outer;
}

static void come_out(struct inside outer)
{
    ms_tls.place = outer.place;
    ms_sys_restore_signals(outer.signals);
}

bool ms_life_here(void)
{
    if (ms_wiped.word == MS_WORD_NONE && ms_real_init() && ms_life_may_begin()) {
        struct inside outer = go_inside();
        begin_process_now();
        come_out(outer);
    }
    return is_recording();
}

bool ms_life_is_exact(void)
{
    return ms_conf.exact;
}

uint32_t ms_life_self(void)
{
    return self;
}

bool ms_life_is_guest(void)
{
    return ms_wiped.pid != 0 && ms_wiped.pid != ms_sys_pid();
}

void ms_life_child(uint64_t counter, uint64_t nanoseconds)
{
    struct inside outer = go_inside();
    begin_process(counter, nanoseconds, false);
    come_out(outer);
}

void ms_life_park(void)
{
    struct ms_tls *t = &ms_tls;
    if (!ms_thread_attached(t) || ms_thread_is_storing(t, t->place.state) || ms_life_is_guest())
        return;
    struct inside outer = go_inside();
    ms_attach_park(t);
    come_out(outer);
}

static MS_AFTER_FORK uint64_t learned; // the address asked for last: mostly it is the same again

void ms_life_learn_code(uint64_t address)
{
    if (address == __atomic_exchange_n(&learned, address, __ATOMIC_RELAXED))
        return;
    if (ms_tls.place.state == MS_SPY || !is_recording() || ms_life_is_guest())
        return;
    struct inside outer = go_inside();
    struct ms_pack *pack = ms_maps_need_reading_for(address) ? ms_pack_take() : NULL;
    if (pack != NULL) {
        ms_seal_modules(pack, self);
        ms_pack_give(pack);
    }
    come_out(outer);
}

static void write_end(unsigned how, int status, int guest)
{
    _Alignas(struct ms_block) uint8_t memory[128];
    struct ms_note note;
    ms_note_begin(&note, memory, sizeof memory);
    ms_note_number(&note, MS_END_HOW, how);
    // Of what a program passes to exit the kernel keeps eight bits.
    if (status != MS_STATUS_UNKNOWN)
        ms_note_number(&note, MS_END_STATUS, (uint32_t)status & 0xff);
    if (guest != 0)
        ms_note_number(&note, MS_END_PID, (uint32_t)guest);
    ms_note_write(&note, MS_BLOCK_END, self);
}

void ms_life_end(unsigned how, int status)
{
    if (!started)
        return;
    // A child of which nothing is known yet. Not one that a vfork of such a child made: that runs
    // in memory which is not its own.
    if (ms_wiped.word == MS_WORD_NONE && ms_sys_parent_pid() != image_pid)
        return;
    if (!ms_life_here())
        return;
    int pid = ms_sys_pid(), guest = ms_wiped.pid == pid ? 0 : pid;
    if (how != MS_END_SIGNAL) // there the stack may be too small for that
        ms_life_park();
    struct inside outer = go_inside();
    if (guest == 0)
        ms_life_tell();
    write_end(how, status, guest);
    come_out(outer);
}

// The first constructor: everything before it that calls a hook has started recording already.
__attribute__((constructor(101))) static void load(void)
{
    ms_life_here();
}
