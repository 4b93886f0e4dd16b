// SPDX-License-Identifier: MIT
// Owns the description of the process and the measurements of our own cost.
#define _GNU_SOURCE
#include "process.h"

#include "conf.h"
#include "kernel.h"
#include "path.h"
#include "proc.h"
#include "real.h"
#include "ring.h"
#include "sink.h"
#include "sys.h"
#include "thread.h"

#include <sys/auxv.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// How far from environ the end of the first stack is at most: a quarter of the usual limit of 8 MiB
// is for arguments and environment (execve(2)); what is farther away is elsewhere.
#define INITIAL_STACK_MAX ((uintptr_t)8 << 20)
#define ARGUMENTS_MAX     ((uintptr_t)1 << 18)

static char *const *arguments; // of the program; NULL: not found
// Not on the stack, which may be a small one: a program describes itself wherever it first
// allocates. One thread does it at a time.
static char text[MS_PATH_MAX];

static uint64_t floor_ticks, resolution_ticks;
static MS_AFTER_FORK uint64_t begin, begin_cpu_ns;
static MS_AFTER_FORK uint64_t setup_ns; // CPU time that the start took so far
static MS_AFTER_FORK bool noticed_late;
static MS_AFTER_FORK uint64_t
        made; // start of the call that made the process; 0: no hook announced it
static MS_AFTER_FORK uint64_t parent_pid; // when the process began
static bool other_malloc;                 // is found before the shim's
static MS_AFTER_FORK char pid_text[24];

uint64_t ms_process_floor(void)
{
    return floor_ticks;
}

const char *ms_process_pid_text(void)
{
    return pid_text;
}

static uint64_t cpu_ns(void)
{
    return ms_sys_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

// The arguments as the kernel has put them on the first stack: argc, argv and its NULL, envp
// (elf(5), the psABI's "Process initialization"). NULL when `environ` is not that envp any more.
// Asking /proc instead makes the kernel build what it shows there, which takes longer than all else
// at start.
static char *const *find_arguments(void)
{
    const uintptr_t *envp = (const uintptr_t *)environ;
    uintptr_t above = getauxval(AT_RANDOM); // lies on that stack, behind envp
    if (envp == NULL || above - (uintptr_t)envp > INITIAL_STACK_MAX || envp[-1] != 0)
        return NULL;
    for (uintptr_t count = 0; count < ARGUMENTS_MAX; count++)
        if (envp[-2 - (ptrdiff_t)count] == count)
            return (char *const *)(envp - 1 - count);
    return NULL;
}

void ms_process_starts(void)
{
    begin_cpu_ns = cpu_ns();
}

void ms_process_look(void)
{
    arguments = find_arguments();
    other_malloc = ms_path_finds_other_malloc();
}

void ms_process_started(uint64_t counter, uint64_t nanoseconds, bool late)
{
    noticed_late = late;
    made = ms_tls.birth != NULL ? ms_tls.birth->start : 0;
    parent_pid = (uint64_t)ms_sys_parent_pid();
    begin = ms_sys_clock == MS_CLOCK_MONOTONIC ? nanoseconds : counter;
    setup_ns = cpu_ns() - begin_cpu_ns;
    pid_text[0] = '\0';
    ms_sys_append_number(pid_text, sizeof pid_text, (uint64_t)ms_sys_pid());
}

// The middle of many readings back to back is the floor; what separates the tenth from the
// ninetieth hundredth of them is what the timer cannot resolve.
static void measure_floor(void)
{
    enum { READINGS = 101 };
    uint64_t ticks[READINGS];
    for (int i = 0; i < READINGS; i++) {
        uint64_t first = ms_sys_ticks();
        ticks[i] = ms_sys_ticks() - first;
    }
    for (int i = 1; i < READINGS; i++) {
        uint64_t value = ticks[i];
        int at = i;
        for (; at > 0 && ticks[at - 1] > value; at--)
            ticks[at] = ticks[at - 1];
        ticks[at] = value;
    }
    floor_ticks = ticks[READINGS / 2];
    resolution_ticks = ticks[READINGS * 9 / 10] - ticks[READINGS / 10];
}

static uint64_t measure_events(uint64_t *slots, bool timed)
{
    uint64_t *end = slots + 256 * MS_SLOT_WORDS;
    struct ms_ring ring = {slots, end, slots, slots};
    struct ms_event e = {.kind = MS_KIND_MALLOC,
            .attr = MS_ALLOC_TCACHE,
            .ptr = 0x1000,
            .size = 24,
            .usable = 24,
            .caller = 0x2000};
    uint64_t first = ms_sys_ticks();
    for (int i = 0; i < 256; i++) {
        if (timed) {
            uint64_t start = ms_sys_ticks();
            e.attr |= MS_ATTR_TIMED;
            e.start = (uint64_t)i;
            e.cost = ms_sys_ticks() - start;
        }
        // The compiler must not see through the loop.
        __asm__ volatile("" : : "r"(&e) : "memory");
        ms_ring_put(&ring, &e, 0);
    }
    return ms_sys_ticks() - first;
}

// A program of a tree that was measured before, on this machine, need not do it again.
static void measure_events_once(void)
{
    const size_t size = 256 * MS_SLOT_BYTES;
    if (ms_sink_header->event_ticks_256 != 0)
        return;
    uint64_t *slots = ms_sys_map(size);
    if (slots == NULL)
        return;
    measure_events(slots, true); // touches the pages
    ms_sink_header->event_ticks_256 = measure_events(slots, false);
    ms_sink_header->timed_ticks_256 = measure_events(slots, true);
    ms_sys_unmap(slots, size);
}

void ms_process_measure(void)
{
    measure_floor();
    measure_events_once();
}

static void put_exe(struct ms_note *note)
{
    ms_proc_exe(text, sizeof text);
    if (text[0] != '\0') // nothing is there in another root
        ms_note_text(note, MS_PROCESS_EXE, text, sizeof text);
}

// The name by which the program was run is what there is without asking /proc.
static void put_program(struct ms_note *note)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (name != NULL && name[0] == '/')
        ms_note_text(note, MS_PROCESS_EXE, name, MS_PATH_MAX);
    else
        put_exe(note);
    if (!ms_conf.argv)
        return;
    if (arguments != NULL)
        ms_note_arguments(note, MS_PROCESS_ARGV, arguments, text, MS_ARGV_MAX);
    else
        ms_note_bytes(
                note, MS_PROCESS_ARGV, text, ms_proc_read("/proc/self/cmdline", text, MS_ARGV_MAX));
}

static void put_machine(struct ms_note *note)
{
    struct utsname names;
    if (uname(&names) != 0)
        return;
    ms_note_text(note, MS_PROCESS_HOST, names.nodename, sizeof names.nodename);
    ms_note_text(note, MS_PROCESS_KERNEL, names.release, sizeof names.release);
    ms_note_text(note, MS_PROCESS_MACHINE, names.machine, sizeof names.machine);
}

static uint64_t flags(void)
{
    return (ms_path.glibc ? MS_PROCESS_GLIBC : 0u) | (ms_path.tcache ? MS_PROCESS_TCACHE : 0u) |
           (ms_kernel_exact ? MS_PROCESS_EXACT : 0u) | (ms_path.heaps ? MS_PROCESS_HEAPS : 0u) |
           (other_malloc ? MS_PROCESS_UNSEEN : 0u) | (ms_conf.follow ? 0u : MS_PROCESS_ALONE) |
           (noticed_late ? MS_PROCESS_LATE : 0u);
}

void ms_process_describe(struct ms_note *note, enum ms_origin origin, uint32_t parent)
{
    ms_note_number(note, MS_PROCESS_PID, (uint64_t)ms_sys_pid());
    ms_note_number(note, MS_PROCESS_PPID, parent_pid);
    ms_note_number(note, MS_PROCESS_PARENT, parent);
    ms_note_number(note, MS_PROCESS_ORIGIN, origin);
    ms_note_number(note, MS_PROCESS_START_TICKS, begin);
    ms_note_number(note, MS_PROCESS_FLAGS, flags());
    if (origin == MS_ORIGIN_FORK && made != 0)
        ms_note_number(note, MS_PROCESS_MADE, made);
    ms_note_number(note, MS_PROCESS_SETUP_NS, setup_ns);
    if (origin == MS_ORIGIN_FORK)
        return; // the rest is as in its parent
    ms_note_number(note, MS_PROCESS_UID, ms_sys_uid());
    if (origin == MS_ORIGIN_EXEC)
        ms_note_number(note, MS_PROCESS_ANCESTOR, ms_sink_ancestor());
    put_program(note);
    put_machine(note);
}

void ms_process_describe_recording(struct ms_note *note, uint64_t took_ns)
{
    setup_ns += took_ns;
    put_exe(note);
    ms_note_number(note, MS_PROCESS_FLAGS, flags());
    ms_note_number(note, MS_PROCESS_FLOOR_TICKS, floor_ticks);
    ms_note_number(note, MS_PROCESS_RESOLUTION_TICKS, resolution_ticks);
    ms_note_number(note, MS_PROCESS_TIMING_LOG2, ms_conf.timing_log2);
    ms_note_number(note, MS_PROCESS_EVENT_TICKS_256, ms_sink_header->event_ticks_256);
    ms_note_number(note, MS_PROCESS_TIMED_TICKS_256, ms_sink_header->timed_ticks_256);
    ms_note_number(note, MS_PROCESS_SETUP_NS, setup_ns);
    ms_note_number(note, MS_PROCESS_EARLY_CALLS, ms_boot_calls);
    ms_note_number(note, MS_PROCESS_PAGE_SIZE, (uint64_t)sysconf(_SC_PAGESIZE));
    ms_note_text(note, MS_PROCESS_LIBC, ms_path_libc(), MS_PATH_MAX);
    ms_note_text(note, MS_PROCESS_ALLOCATOR, ms_path_allocator(), MS_PATH_MAX);
}
