// SPDX-License-Identifier: MIT
// Pure accounting: no input, no output, no allocation but a site's size table. ms_tally_add is
// called once an event and dominates the run time of reports, so it looks at each event once, by
// class. What it keeps of a site is just what the findings in model.c ask for.
#include "tally.h"

#include "memory.h"

#define SMALL_MAX    1024u
#define BIG_MIN      4096u
#define CALLOC_FRESH (128u << 10) // glibc's initial mmap threshold
// Return addresses this close together are taken for one function: without symbols that is a guess
// which errs on the side of silence for larger functions.
#define NEARBY 1024u

const char *ms_alloc_path_name(unsigned path)
{
    static const char *const names[MS_ALLOC_PATHS] = {
            "unknown", "tcache", "arena", "brk", "heap", "mmap", "mremap"};
    return names[path < MS_ALLOC_PATHS ? path : MS_ALLOC_UNKNOWN];
}

const char *ms_free_path_name(unsigned path)
{
    static const char *const names[MS_FREE_PATHS] = {
            "unknown", "tcache", "arena", "trim", "munmap"};
    return names[path < MS_FREE_PATHS ? path : MS_FREE_UNKNOWN];
}

const char *ms_system_call_name(unsigned call)
{
    static const char *const names[MS_CALLS] = {
            "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "other"};
    return names[call < MS_CALLS ? call : MS_CALL_OTHER];
}

bool ms_row_is_kernel(unsigned row)
{
    switch (row) {
    case MS_ALLOC_BRK:
    case MS_ALLOC_HEAP:
    case MS_ALLOC_MMAP:
    case MS_ALLOC_MREMAP:
    case MS_ROW_FREE + MS_FREE_TRIM:
    case MS_ROW_FREE + MS_FREE_MUNMAP:
        return true;
    default:
        return false;
    }
}

double ms_row_total(const struct ms_row *row)
{
    return row->timed ? (double)row->cost / (double)row->timed * (double)row->calls : 0;
}

double ms_row_bucket(const struct ms_row *row, unsigned bucket)
{
    double hits = (double)row->hist[bucket];
    double calls = row->timed ? hits * (double)row->calls / (double)row->timed : 0;
    // Numbers of a hostile trace must stay such that sums of them fit an integer.
    return calls < 0x1p53 ? calls : 0x1p53;
}

double ms_row_quantile(const struct ms_row *row, double q)
{
    double rank = q * (double)row->timed, below = 0;
    for (unsigned i = 0; i < MS_HIST_BUCKETS && row->timed; i++) {
        double here = (double)row->hist[i];
        if (here == 0 || below + here < rank) {
            below += here;
            continue;
        }
        double low = (double)ms_hist_low(i);
        double width = (double)ms_hist_low(i + 1) - low;
        // A bucket one tick wide holds one value.
        double value = width > 1 ? low + width * (rank - below) / here : low;
        value = value > (double)row->min ? value : (double)row->min;
        return value < (double)row->max ? value : (double)row->max;
    }
    return (double)row->max;
}

static uint64_t net_of(const struct ms_event *event, uint64_t floor)
{
    return event->attr & MS_ATTR_TIMED && event->cost > floor ? event->cost - floor : 0;
}

static void sum_add(struct ms_sum *sum, uint64_t bytes, uint64_t cost)
{
    sum->calls++;
    sum->bytes += bytes;
    sum->cost += cost;
}

static void add_mmap(struct ms_site *site, const struct ms_event *e, uint64_t cost)
{
    site->mmap_cost += cost;
    if (!site->mmap_sizes)
        site->mmap_sizes = ms_memory_zeroed(MS_SIZE_CLASSES, sizeof *site->mmap_sizes);
    site->mmap_sizes[ms_size_class(e->size)]++;
    if (e->kind == MS_KIND_CALLOC && e->size >= CALLOC_FRESH) {
        site->calloc_fresh++;
        site->calloc_bytes += e->size;
    }
}

// Counts the kernel's part in a call and returns it: in exact mode the system calls seen inside it,
// else the whole cost of a call whose path touched the kernel.
static uint64_t add_kernel(struct ms_totals *totals, struct ms_tally_thread *thread,
        const struct ms_tally_event *x, uint64_t cost)
{
    struct ms_site *site = &totals->sites.list[x->site];
    bool is_exact = thread->kernel_calls != 0;
    if (!is_exact && !ms_row_is_kernel(ms_row_of(x->event)))
        return 0;
    uint64_t part = is_exact ? thread->kernel_cost : cost;
    site->kernel_calls++;
    site->kernel_cost += part;
    totals->touched_kernel[ms_event_frees(x->event)] += part;
    sum_add(&totals->touched[ms_event_frees(x->event)], x->event->size, cost);
    thread->kernel_calls = thread->kernel_cost = 0;
    return part;
}

static void note_brk(struct ms_totals *totals, uint64_t ptr)
{
    if (totals->brk_high == 0 || ptr < totals->brk_low)
        totals->brk_low = ptr;
    if (ptr > totals->brk_high)
        totals->brk_high = ptr;
}

// Main heaps lie by the programs, thread heaps among the mappings, terabytes away.
static bool is_main_trim(const struct ms_totals *totals, const struct ms_event *e)
{
    const uint64_t margin = UINT64_C(4) << 30;
    return ms_row_of(e) == MS_ROW_FREE + MS_FREE_TRIM && totals->brk_high != 0 &&
           e->ptr + margin >= totals->brk_low && e->ptr <= totals->brk_high + margin;
}

static void add_alloc(struct ms_totals *totals, struct ms_tally_thread *thread,
        const struct ms_tally_event *x, uint64_t cost, uint64_t kernel_cost)
{
    const struct ms_event *e = x->event;
    struct ms_site *site = &totals->sites.list[x->site];
    unsigned path = ms_row_of(e);
    struct ms_sum *size = &totals->sizes[ms_size_class(e->size)];
    size->calls++;
    size->bytes += e->size;
    site->calls++;
    site->bytes += e->size;
    site->cost += cost;
    site->paths[path]++;
    site->big_calls += e->size > BIG_MIN;
    site->small_calls += e->size <= SMALL_MAX;
    totals->shrank += (e->attr & MS_ATTR_SHRANK) != 0;
    if (MS_UNLIKELY(path == MS_ALLOC_MMAP))
        add_mmap(site, e, kernel_cost);
    if (MS_UNLIKELY(path == MS_ALLOC_HEAP)) {
        site->heap_cost += kernel_cost;
        site->heap_big += e->size > BIG_MIN;
    }
    if (MS_UNLIKELY(path == MS_ALLOC_BRK)) {
        note_brk(totals, e->ptr);
        sum_add(&totals->main_grows, e->size, kernel_cost);
    }
    thread->last_address = e->ptr;
    thread->last_caller = e->caller;
    thread->last_site = x->site;
    thread->last_small = e->size <= SMALL_MAX;
}

static void add_free(struct ms_totals *totals, struct ms_tally_thread *thread,
        const struct ms_tally_event *x, uint64_t cost, uint64_t kernel_cost)
{
    const struct ms_event *e = x->event;
    struct ms_site *sites = totals->sites.list;
    sites[x->site].frees++;
    sites[x->site].cost += cost;
    if (e->ptr == thread->last_address && thread->last_small &&
            e->caller - thread->last_caller + NEARBY <= 2 * NEARBY) {
        sites[thread->last_site].small_temporary++;
        thread->last_address = 0;
    }
    if (MS_UNLIKELY(is_main_trim(totals, e)))
        sum_add(&totals->main_trims, e->usable, kernel_cost);
    if (MS_UNLIKELY(x->freed_site && ms_event_path(e) == MS_FREE_MUNMAP)) {
        sites[x->freed_site].munmap_calls++;
        sites[x->freed_site].munmap_cost += kernel_cost;
    }
}

static enum ms_system_call system_call_of(uint64_t number, bool is_aarch64)
{
    // In the order of enum ms_system_call; asm/unistd.h of either machine.
    static const uint16_t numbers[2][MS_CALL_OTHER] = {
            {12, 9, 11, 25, 10, 28}, {214, 222, 215, 216, 226, 233}};
    for (unsigned i = 0; i < MS_CALL_OTHER; i++)
        if (numbers[is_aarch64][i] == number)
            return (enum ms_system_call)i;
    return MS_CALL_OTHER;
}

static void add_system_call(struct ms_totals *totals, struct ms_tally_thread *thread,
        const struct ms_tally_event *x, uint64_t net)
{
    struct ms_row *row = &totals->kernel[system_call_of(x->event->aux, x->is_aarch64)];
    row->calls++;
    if (!(x->event->attr & MS_ATTR_FAILED))
        row->bytes += x->event->size;
    if (x->event->attr & MS_ATTR_TIMED)
        ms_row_add_cost(row, net, UINT64_C(1) << x->event->weight_log2);
    thread->kernel_calls++;
    thread->kernel_cost += net << x->event->weight_log2;
}

static void add_map(struct ms_totals *totals, const struct ms_event *e, uint64_t cost)
{
    struct ms_sum *sum = &totals->maps[e->kind & (MS_KIND_LIMIT - 1)];
    sum_add(sum, e->size, cost);
    sum->failed += (e->attr & MS_ATTR_FAILED) != 0;
}

void ms_tally_add(
        struct ms_totals *totals, struct ms_tally_thread *thread, const struct ms_tally_event *x)
{
    const struct ms_event *e = x->event;
    uint64_t net = net_of(e, x->floor);
    uint64_t cost = net << e->weight_log2;
    totals->events++;
    totals->timed_events += (e->attr & MS_ATTR_TIMED) != 0;
    if (MS_LIKELY(x->is_counted))
        ms_counters_add(&totals->counters, e, x->floor, 1);
    enum ms_class class = ms_kind_class(e->kind);
    if (class == MS_CLASS_KERNEL) {
        add_system_call(totals, thread, x, net);
    } else if (class == MS_CLASS_MAP) {
        add_map(totals, e, cost);
        // System calls inside malloc_trim are its own, not the next allocation's.
        thread->kernel_calls = thread->kernel_cost = 0;
    } else if (e->attr & MS_ATTR_FAILED) {
        thread->kernel_calls = thread->kernel_cost = 0;
    } else {
        uint64_t kernel_cost = add_kernel(totals, thread, x, cost);
        totals->timed_calls[ms_row_of(e)] += (e->attr & MS_ATTR_TIMED) != 0;
        if (ms_event_frees(e))
            add_free(totals, thread, x, cost, kernel_cost);
        else
            add_alloc(totals, thread, x, cost, kernel_cost);
    }
}
