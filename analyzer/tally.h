// SPDX-License-Identifier: MIT
// What the events add up to: by path, by size, by call site, by kind. All costs are net, in clock
// ticks; a timed call counts with its weight.
#ifndef MEMSPY_ANALYZER_TALLY_H
#define MEMSPY_ANALYZER_TALLY_H

#include "site.h"

// A sum without a histogram.
struct ms_sum {
    uint64_t calls;
    uint64_t bytes;
    uint64_t cost;
    uint64_t failed; // calls among them that failed
};

// System calls that allocators make, as exact mode sees them.
enum ms_system_call {
    MS_CALL_BRK,
    MS_CALL_MMAP,
    MS_CALL_MUNMAP,
    MS_CALL_MREMAP,
    MS_CALL_MPROTECT,
    MS_CALL_MADVISE,
    MS_CALL_OTHER,
    MS_CALLS
};

struct ms_totals {
    struct ms_counters counters;          // rows, kinds, failed calls, tallies of the threads
    struct ms_sum maps[MS_KIND_LIMIT];    // the program's own calls for memory, by kind
    struct ms_row kernel[MS_CALLS];       // exact mode
    struct ms_sum sizes[MS_SIZE_CLASSES]; // allocations by size asked for
    struct ms_sum touched[2];             // allocations and frees that touched the kernel
    uint64_t touched_kernel[2];           // the kernel's part in their cost
    uint64_t timed_calls[MS_ROWS];        // calls that were timed, each counted once
    uint64_t events;
    uint64_t timed_events;
    // Trims of main heaps, which brk moves, apart from those of thread heaps: told by their
    // distance from the blocks that growths of a main heap served.
    struct ms_sum main_trims; // costs are the kernel's part, as those of the growths
    struct ms_sum main_grows;
    uint64_t brk_low;
    uint64_t brk_high;
    uint64_t shrank; // reallocs during which memory went back to the kernel
    struct ms_sites sites;
};

// What is remembered between two events of a thread.
struct ms_tally_thread {
    uint64_t last_address; // of the last allocation, 0 once something else came between
    uint64_t last_caller;
    uint32_t last_site;
    bool last_small;
    uint64_t kernel_calls; // seen since the last allocation or free
    uint64_t kernel_cost;
};

// One event with what the replay knows of it.
struct ms_tally_event {
    const struct ms_event *event;
    uint32_t site;       // of the caller; 0 for kinds without one
    uint32_t freed_site; // where the block taken back was allocated; 0 if unknown
    uint64_t floor;      // of the process' timer
    bool is_aarch64;     // numbers of system calls are that machine's
    bool is_counted;     // counters.rows and kinds take it; false if exact counters stand in
};

// Adds an event.
void ms_tally_add(struct ms_totals *totals, struct ms_tally_thread *thread,
        const struct ms_tally_event *event);

// Names of the contract.
const char *ms_alloc_path_name(unsigned path);
const char *ms_free_path_name(unsigned path);
const char *ms_system_call_name(unsigned call);

// Whether allocations or frees of that row touched the kernel.
bool ms_row_is_kernel(unsigned row);

// The calls in a bucket of the row's histogram, estimated from the timed ones: a row's buckets add
// up to its calls.
double ms_row_bucket(const struct ms_row *row, unsigned bucket);

// Whether system calls were recorded: then the kernel's part in a cost is known by itself.
MS_INLINE bool ms_totals_are_exact(const struct ms_totals *totals)
{
    return totals->counters.kinds[MS_KIND_KERNEL] != 0;
}

// What the row's calls cost in all, in ticks: the mean of the timed ones times the calls, since
// which of the cheap calls get timed is chance. 0 without timed calls.
double ms_row_total(const struct ms_row *row);

// The cost, in ticks, below which a share `q` of the row's timed calls lies; within a bucket of the
// histogram calls are taken to be spread evenly. 0 without timed calls.
double ms_row_quantile(const struct ms_row *row, double q);

#endif
