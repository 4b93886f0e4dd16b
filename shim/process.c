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
#include "sys.h"

#include <sys/utsname.h>
#include <unistd.h>

static uint64_t floor_ticks, resolution_ticks;
static uint64_t untimed_ticks, timed_ticks; // of 256 events
static uint64_t begin;
static char pid_text[24];

uint64_t ms_process_floor(void)
{
    return floor_ticks;
}

const char *ms_process_pid_text(void)
{
    return pid_text;
}

void ms_process_started(uint64_t counter, uint64_t nanoseconds)
{
    begin = ms_sys_clock == MS_CLOCK_MONOTONIC ? nanoseconds : counter;
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
    struct ms_tls t = {.slots = slots, .limit = 256, .base = 0};
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
        uint64_t *slot = ms_ring_take(&t, &e);
        if (slot != NULL)
            ms_slot_store(slot, &e, 0);
    }
    return ms_sys_ticks() - first;
}

void ms_process_measure(void)
{
    const size_t size = 256 * MS_SLOT_BYTES;
    measure_floor();
    uint64_t *slots = ms_sys_map(size);
    if (slots == NULL)
        return;
    measure_events(slots, true); // touches the pages
    untimed_ticks = measure_events(slots, false);
    timed_ticks = measure_events(slots, true);
    ms_sys_unmap(slots, size);
}

static void put_number(struct ms_writer *out, uint8_t tag, uint64_t value)
{
    uint8_t bytes[MS_VARINT_MAX];
    struct ms_writer w = {bytes, bytes + sizeof bytes, false};
    ms_put_varint(&w, value);
    ms_put_u8(out, tag);
    ms_put_varint(out, (uint64_t)(w.at - bytes));
    ms_put_bytes(out, bytes, (size_t)(w.at - bytes));
}

static void put_data(struct ms_writer *out, uint8_t tag, const char *data, size_t size)
{
    ms_put_u8(out, tag);
    ms_put_varint(out, size);
    ms_put_bytes(out, data, size);
}

static void put_text(struct ms_writer *out, uint8_t tag, const char *text)
{
    put_data(out, tag, text, ms_sys_length(text));
}

static void put_program(struct ms_writer *out)
{
    // Not on the stack, which may be a small one: a child describes itself wherever it first
    // allocates. One thread of a process does it, once.
    static char text[MS_PATH_MAX];
    ms_proc_exe(text, sizeof text);
    put_text(out, MS_PROCESS_EXE, text);
    size_t size = ms_proc_read("/proc/self/cmdline", text, MS_ARGV_MAX);
    put_data(out, MS_PROCESS_ARGV, text, size);
}

static void put_machine(struct ms_writer *out)
{
    struct utsname names;
    if (uname(&names) != 0)
        return;
    put_text(out, MS_PROCESS_HOST, names.nodename);
    put_text(out, MS_PROCESS_KERNEL, names.release);
    put_text(out, MS_PROCESS_MACHINE, names.machine);
}

static uint64_t flags(void)
{
    return (ms_path.glibc ? MS_PROCESS_GLIBC : 0u) | (ms_path.tcache ? MS_PROCESS_TCACHE : 0u) |
           (ms_kernel_exact ? MS_PROCESS_EXACT : 0u) | (ms_path.heaps ? MS_PROCESS_HEAPS : 0u);
}

static void put_measurements(struct ms_writer *out)
{
    put_number(out, MS_PROCESS_FLOOR_TICKS, floor_ticks);
    put_number(out, MS_PROCESS_RESOLUTION_TICKS, resolution_ticks);
    put_number(out, MS_PROCESS_TIMING_LOG2, ms_conf.timing_log2);
    put_number(out, MS_PROCESS_EVENT_TICKS_256, untimed_ticks);
    put_number(out, MS_PROCESS_TIMED_TICKS_256, timed_ticks);
    put_number(out, MS_PROCESS_SETUP_TICKS, ms_sys_ticks() - begin);
    put_number(out, MS_PROCESS_EARLY_CALLS, ms_boot_calls);
}

void ms_process_describe(struct ms_writer *out, enum ms_origin origin, uint32_t parent)
{
    put_number(out, MS_PROCESS_PID, (uint64_t)ms_sys_pid());
    put_number(out, MS_PROCESS_PPID, (uint64_t)ms_sys_parent_pid());
    put_number(out, MS_PROCESS_PARENT, parent);
    put_number(out, MS_PROCESS_ORIGIN, origin);
    put_number(out, MS_PROCESS_START_TICKS, begin);
    put_number(out, MS_PROCESS_BIRTH, ms_proc_birth());
    put_number(out, MS_PROCESS_UID, ms_sys_uid());
    put_number(out, MS_PROCESS_FLAGS, flags());
    put_measurements(out);
    put_program(out);
    if (origin == MS_ORIGIN_FORK)
        return; // the rest is as in its parent
    put_machine(out);
    put_number(out, MS_PROCESS_PAGE_SIZE, (uint64_t)sysconf(_SC_PAGESIZE));
    put_text(out, MS_PROCESS_LIBC, ms_path_libc());
    put_text(out, MS_PROCESS_ALLOCATOR, ms_path_allocator());
}

void ms_process_describe_end(struct ms_writer *out, unsigned how, int status, const char *path)
{
    put_number(out, MS_END_HOW, how);
    if (status != MS_STATUS_UNKNOWN)
        put_number(out, MS_END_STATUS, (uint64_t)(uint32_t)status);
    if (path != NULL)
        put_text(out, MS_END_PATH, path);
}
