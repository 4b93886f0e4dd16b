// SPDX-License-Identifier: MIT
// Drives merge.h through every process and feeds heap.h and tally.h. One process' heap is alive at
// a time. A child's heap starts empty: frees of blocks that it inherited are `unmatched`.
// A thread with missing buffers gets its path rows from the exact counters of its last sealed block
// and, for what came after, from the events of its live block; all else comes from the events.
#include "replay.h"

#include <stdlib.h>

#include "heap.h"
#include "memory.h"
#include "merge.h"

// Events between two calls of the progress function.
#define PROGRESS_STEP (1u << 20)

// One process while it is gone through.
struct run {
    struct ms_replay *replay;
    struct ms_merge merge;
    struct ms_heap heap;
    struct ms_tally_thread *threads;
    struct ms_heap_clock *clocks;
    uint64_t allocations; // events
    uint64_t floor;
    bool is_aarch64;
};

// Takes the block at `address` off the heap; returns its site, 0 if it is not known.
static uint32_t take(struct run *run, uint64_t address, uint32_t thread)
{
    struct ms_heap_block block;
    if (address == 0 || !ms_heap_take(&run->heap, address, thread, &block))
        return 0;
    return block.site;
}

static void put(struct run *run, const struct ms_event *e, uint32_t site, uint32_t thread)
{
    if (e->ptr == 0)
        return;
    const struct ms_heap_block block = {
            .address = e->ptr, .size = e->size, .site = site, .thread = thread};
    ms_heap_put(&run->heap, &block);
}

// The heap's share of an event. Returns the site of the block it takes back.
static uint32_t replay_heap(
        struct run *run, const struct ms_event *e, uint32_t site, uint32_t thread)
{
    enum ms_class class = ms_kind_class(e->kind);
    run->allocations += class == MS_CLASS_ALLOC;
    if (class == MS_CLASS_FREE)
        return take(run, e->ptr, thread);
    if (class != MS_CLASS_ALLOC || (e->attr & MS_ATTR_FAILED))
        return 0;
    if (e->attr & MS_ATTR_FREED)
        return take(run, e->ptr ? e->ptr : e->aux, thread);
    if (e->aux)
        take(run, e->aux, thread);
    put(run, e, site, thread);
    return 0;
}

static void replay_event(struct run *run, const struct ms_stream *stream)
{
    const struct ms_event *e = &stream->event;
    struct ms_totals *totals = &run->replay->totals;
    uint32_t thread = (uint32_t)(stream - run->merge.streams);
    ms_heap_tick(&run->heap, thread, stream->time, e->attr & MS_ATTR_TIMED);
    uint32_t site = 0;
    if (ms_kind_fields(e->kind) & MS_F_CALLER)
        site = ms_site_number(&totals->sites, e->caller);
    const struct ms_tally_event x = {
            .event = e,
            .site = site,
            .freed_site = replay_heap(run, e, site, thread),
            .floor = run->floor,
            .is_aarch64 = run->is_aarch64,
            .is_counted = stream->thread->missing == 0 || stream->in_live,
    };
    ms_tally_add(totals, &run->threads[thread], &x);
}

// The counters of the thread's last sealed block; false when it has none.
static bool last_counters(
        struct ms_reader *reader, const struct ms_thread *thread, struct ms_counters *counters)
{
    struct ms_batch batch = {0};
    bool got = false;
    for (size_t i = thread->count; i-- > 0 && !got;) {
        const struct ms_entry *entry = &reader->entries[thread->first + i];
        got = entry->type == MS_BLOCK_EVENTS && !entry->failed &&
              ms_reader_batch(reader, entry, &batch) && ms_batch_counters(&batch, counters);
    }
    ms_batch_free(&batch);
    return got;
}

// A live block's tallies are newer than those sealed before.
static void live_tally(
        struct ms_reader *reader, const struct ms_thread *thread, struct ms_counters *counters)
{
    const struct ms_entry *entry = &reader->entries[thread->first + thread->count - 1];
    struct ms_live live;
    if (thread->has_live && ms_source_read(&reader->source, entry->offset, &live, sizeof live))
        memcpy(counters->tally, live.tally, sizeof counters->tally);
}

_Static_assert(sizeof((struct ms_live){0}.tally) == sizeof((struct ms_counters){0}.tally),
        "a live block has all tallies");

static uint64_t sum_of(const uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static void finish_thread(struct run *run, const struct ms_stream *stream)
{
    static struct ms_counters counters;
    struct ms_replay *replay = run->replay;
    struct ms_counters *all = &replay->totals.counters;
    if (!last_counters(replay->reader, stream->thread, &counters))
        memset(&counters, 0, sizeof counters);
    live_tally(replay->reader, stream->thread, &counters);
    replay->unfinished += stream->holes;
    replay->lost += counters.tally[MS_TALLY_LOST] + stream->holes + stream->lost +
                    stream->thread->tail_events;
    if (stream->thread->missing) {
        uint64_t sealed = sum_of(counters.kinds, MS_KIND_LIMIT);
        uint64_t read = stream->sealed_events + stream->lost;
        replay->lost += sealed > read ? sealed - read : 0;
        replay->uses_counters = true;
        ms_counters_merge(all, &counters);
        return;
    }
    for (unsigned i = 0; i < MS_TALLIES; i++)
        all->tally[i] += counters.tally[i];
}

static void finish_process(struct run *run, struct ms_figures *figures)
{
    const struct ms_heap *heap = &run->heap;
    struct ms_figures *all = &run->replay->all;
    figures->live_bytes = heap->bytes;
    figures->live_blocks = heap->blocks;
    figures->peak_bytes = heap->peak_bytes;
    figures->peak_blocks = heap->peak_blocks;
    figures->unmatched_frees = heap->unmatched;
    all->events += figures->events;
    all->timed_events += figures->timed_events;
    all->threads += figures->threads;
    all->live_bytes += heap->bytes;
    all->live_blocks += heap->blocks;
    all->unmatched_frees += heap->unmatched;
    if (heap->peak_bytes > all->peak_bytes)
        all->peak_bytes = heap->peak_bytes;
    if (heap->peak_blocks > all->peak_blocks)
        all->peak_blocks = heap->peak_blocks;
}

static void begin_process(struct run *run, const struct ms_process *process, size_t threads)
{
    const char *machine = process ? process->text[MS_PROCESS_MACHINE] : NULL;
    run->threads = ms_memory_zeroed(threads, sizeof *run->threads);
    run->clocks = ms_memory_zeroed(threads, sizeof *run->clocks);
    run->heap.clocks = run->clocks;
    run->heap.has_threads = threads > 1;
    run->floor = process ? process->number[MS_PROCESS_FLOOR_TICKS] : 0;
    run->is_aarch64 = machine && strcmp(machine, "aarch64") == 0;
    ms_site_enter(&run->replay->totals.sites, process);
}

static void end_process(struct run *run)
{
    ms_merge_close(&run->merge);
    ms_heap_free(&run->heap);
    free(run->threads);
    free(run->clocks);
}

// What a process adds to the rows: the cost of its allocations and frees is that of its own calls.
struct share {
    struct {
        uint64_t calls, timed, cost;
    } rows[MS_ROWS];
};

static void share_begin(struct share *share, const struct ms_totals *totals)
{
    for (unsigned i = 0; i < MS_ROWS; i++) {
        const struct ms_row *row = &totals->counters.rows[i];
        share->rows[i].calls = row->calls;
        share->rows[i].timed = row->timed;
        share->rows[i].cost = row->cost;
    }
}

static double share_end(const struct share *share, const struct ms_totals *totals)
{
    double ticks = 0;
    for (unsigned i = 0; i < MS_ROWS; i++) {
        const struct ms_row *row = &totals->counters.rows[i];
        const struct ms_row own = {.calls = row->calls - share->rows[i].calls,
                .timed = row->timed - share->rows[i].timed,
                .cost = row->cost - share->rows[i].cost};
        ticks += ms_row_total(&own);
    }
    return ticks;
}

struct ticker {
    ms_replay_progress *progress;
    void *context;
};

// Goes through threads [first, first + count) of the index, which are those of one process.
static void replay_process(
        struct ms_replay *replay, size_t first, size_t count, const struct ticker *ticker)
{
    struct ms_reader *reader = replay->reader;
    struct ms_totals *totals = &replay->totals;
    struct ms_process *process =
            ms_process_find(&reader->processes, reader->threads[first].process);
    struct ms_figures none, *figures = &none;
    if (process)
        figures = &replay->figures[process - reader->processes.list];
    struct run run = {.replay = replay};
    struct share share;
    share_begin(&share, totals);
    begin_process(&run, process, count);
    ms_merge_open(&run.merge, reader, first, count);
    uint64_t events = totals->events, timed = totals->timed_events, last = 0;
    struct ms_stream *stream;
    while ((stream = ms_merge_next(&run.merge))) {
        replay_event(&run, stream);
        last = stream->time;
        if (ticker->progress && totals->events % PROGRESS_STEP == 0)
            ticker->progress(ticker->context, totals->events);
    }
    *figures = (struct ms_figures){
            .events = totals->events - events,
            .timed_events = totals->timed_events - timed,
            .allocations = run.allocations,
            .threads = count,
            .last_ticks = last << reader->clock.tick_shift,
    };
    for (size_t i = 0; i < count; i++)
        finish_thread(&run, &run.merge.streams[i]);
    figures->alloc_ticks = share_end(&share, totals);
    finish_process(&run, figures);
    end_process(&run);
}

static void note_lifetimes(struct ms_replay *replay)
{
    for (size_t i = 0; i < replay->reader->processes.count; i++) {
        const struct ms_process *process = &replay->reader->processes.list[i];
        struct ms_figures *figures = &replay->figures[i];
        if (process->last_ticks > figures->last_ticks)
            figures->last_ticks = process->last_ticks;
    }
}

void ms_replay_run(struct ms_replay *replay, struct ms_reader *reader, ms_replay_progress *progress,
        void *context)
{
    const struct ticker ticker = {progress, context};
    replay->reader = reader;
    replay->lost = reader->header.lost_events;
    replay->figures = ms_memory_zeroed(reader->processes.count, sizeof *replay->figures);
    ms_site_open(&replay->totals.sites, &reader->processes);
    for (size_t first = 0, count; first < reader->thread_count; first += count) {
        count = 1;
        while (first + count < reader->thread_count &&
                reader->threads[first + count].process == reader->threads[first].process)
            count++;
        replay_process(replay, first, count, &ticker);
    }
    note_lifetimes(replay);
}

double ms_replay_lifetime(const struct ms_replay *replay)
{
    double ticks = 0;
    for (size_t i = 0; i < replay->reader->processes.count; i++) {
        uint64_t start = replay->reader->processes.list[i].number[MS_PROCESS_START_TICKS];
        uint64_t last = replay->figures[i].last_ticks;
        ticks += start && last > start ? (double)(last - start) : 0;
    }
    return ticks;
}

double ms_replay_event_cost(const struct ms_replay *replay)
{
    double ticks = 0;
    for (size_t i = 0; i < replay->reader->processes.count; i++) {
        const uint64_t *number = replay->reader->processes.list[i].number;
        const struct ms_figures *figures = &replay->figures[i];
        ticks += (double)(figures->events - figures->timed_events) *
                 (double)number[MS_PROCESS_EVENT_TICKS_256] / 256;
        ticks += (double)figures->timed_events * (double)number[MS_PROCESS_TIMED_TICKS_256] / 256;
    }
    return ticks;
}

double ms_replay_setup_cost(const struct ms_replay *replay)
{
    double ns = 0;
    for (size_t i = 0; i < replay->reader->processes.count; i++)
        ns += (double)replay->reader->processes.list[i].number[MS_PROCESS_SETUP_NS];
    return ns;
}

void ms_replay_free(struct ms_replay *replay)
{
    ms_site_free(&replay->totals.sites);
    free(replay->figures);
}
