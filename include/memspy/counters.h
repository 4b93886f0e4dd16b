// SPDX-License-Identifier: MIT
// The exact totals of one thread, kept in its process, added to when a buffer is sealed and
// written with every seal: they stay right whatever happens to single blocks, and those of any
// number of threads, processes and hosts add up. Costs are in clock ticks with the timer's floor
// taken off. Owned by one thread; no function here allocates.
#ifndef MEMSPY_COUNTERS_H
#define MEMSPY_COUNTERS_H

#include "event.h"
#include "histogram.h"
#include "wire.h"

// Rows of the table: the allocation paths, then the free paths.
#define MS_ROWS     (MS_ALLOC_PATHS + MS_FREE_PATHS)
#define MS_ROW_FREE MS_ALLOC_PATHS

// What one path was used for and what it cost.
struct ms_row {
    uint64_t calls; // calls that succeeded
    uint64_t bytes; // asked for (allocations) or given back (frees)
    uint64_t timed; // the sum of the weights of the timed calls
    uint64_t cost;  // the sum of weight times cost
    uint64_t min;   // of the timed calls; 0 when there are none
    uint64_t max;
    uint64_t hist[MS_HIST_BUCKETS]; // weights by cost
};

// Calls that are counted but are no events, and events that could not be recorded.
enum ms_tally {
    MS_TALLY_FREE_NULL,   // free(NULL)
    MS_TALLY_USABLE_SIZE, // malloc_usable_size
    MS_TALLY_LOST,        // events for which there was no room
    MS_TALLY_SEALS,       // buffers sealed
    MS_TALLY_SEAL_NS,     // CPU time spent sealing, in nanoseconds
    MS_TALLIES
};

struct ms_counters {
    struct ms_row rows[MS_ROWS];
    uint64_t kinds[MS_KIND_LIMIT]; // events of each kind
    uint64_t failed_calls;         // allocations that failed
    uint64_t failed_bytes;
    uint64_t tally[MS_TALLIES];
};

// The row of an allocation or free that succeeded.
MS_INLINE unsigned ms_row_of(const struct ms_event *e)
{
    unsigned path = ms_event_path(e);
    if (ms_event_frees(e))
        return MS_ROW_FREE + (path < MS_FREE_PATHS ? path : MS_FREE_UNKNOWN);
    return path < MS_ALLOC_PATHS ? path : MS_ALLOC_UNKNOWN;
}

// Adds a cost of `weight` calls to a row.
MS_INLINE void ms_row_add_cost(struct ms_row *row, uint64_t cost, uint64_t weight)
{
    if (row->timed == 0 || cost < row->min)
        row->min = cost;
    if (cost > row->max)
        row->max = cost;
    row->timed += weight;
    row->cost += cost * weight;
    row->hist[ms_hist_bucket(cost)] += weight;
}

// Adds `times` events that are all alike; a timed one's cost less `floor`.
MS_INLINE void ms_counters_add(
        struct ms_counters *c, const struct ms_event *e, uint64_t floor, uint64_t times)
{
    if (e->kind < MS_KIND_LIMIT)
        c->kinds[e->kind] += times;
    enum ms_class class = ms_kind_class(e->kind);
    if (class != MS_CLASS_ALLOC && class != MS_CLASS_FREE)
        return;
    if (e->attr & MS_ATTR_FAILED) {
        c->failed_calls += times;
        uint64_t bytes; // sizes that fail are often absurd
        if (__builtin_mul_overflow(e->size, times, &bytes) ||
                __builtin_add_overflow(c->failed_bytes, bytes, &c->failed_bytes))
            c->failed_bytes = UINT64_MAX;
        return;
    }
    struct ms_row *row = &c->rows[ms_row_of(e)];
    row->calls += times;
    row->bytes += (ms_event_frees(e) ? e->usable : e->size) * times;
    if (e->attr & MS_ATTR_TIMED)
        ms_row_add_cost(row, e->cost > floor ? e->cost - floor : 0, times << e->weight_log2);
}

// Adds the row `from` to `to`.
static inline void ms_row_merge(struct ms_row *to, const struct ms_row *from)
{
    if (from->timed && (to->timed == 0 || from->min < to->min))
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
    to->calls += from->calls;
    to->bytes += from->bytes;
    to->timed += from->timed;
    to->cost += from->cost;
    for (unsigned i = 0; i < MS_HIST_BUCKETS; i++)
        to->hist[i] += from->hist[i];
}

static inline void ms_counters_merge(struct ms_counters *to, const struct ms_counters *from)
{
    for (unsigned i = 0; i < MS_ROWS; i++)
        ms_row_merge(&to->rows[i], &from->rows[i]);
    for (unsigned i = 0; i < MS_KIND_LIMIT; i++)
        to->kinds[i] += from->kinds[i];
    to->failed_calls += from->failed_calls;
    if (__builtin_add_overflow(to->failed_bytes, from->failed_bytes, &to->failed_bytes))
        to->failed_bytes = UINT64_MAX;
    for (unsigned i = 0; i < MS_TALLIES; i++)
        to->tally[i] += from->tally[i];
}

// A sparse array: the number of values that are not 0, then for each the distance from the index
// after the previous one, and the value. All that are not 0 lie in [first, end).
static inline void ms_put_sparse(
        struct ms_writer *w, const uint64_t *values, unsigned first, unsigned end)
{
    unsigned used = 0;
    for (unsigned i = first; i < end; i++)
        used += values[i] != 0;
    ms_put_varint(w, used);
    for (unsigned i = first, next = 0; i < end; i++) {
        if (values[i] == 0)
            continue;
        ms_put_varint(w, i - next);
        ms_put_varint(w, values[i]);
        next = i + 1;
    }
}

static inline void ms_get_sparse(struct ms_cursor *c, uint64_t *values, unsigned count)
{
    uint64_t used = ms_get_varint(c);
    uint64_t index = 0;
    for (uint64_t i = 0; i < used && !c->bad; i++) {
        uint64_t gap = ms_get_varint(c);
        uint64_t value = ms_get_varint(c);
        if (gap >= count || index + gap >= count) {
            c->bad = true;
            return;
        }
        index += gap;
        values[index++] = value;
    }
}

// The wire form: for each row in order: calls; when that is not 0: bytes, timed, cost, min, max
// and the histogram as a sparse array; then failed calls and bytes, the kinds and the tallies as
// sparse arrays.
static inline void ms_counters_encode(struct ms_writer *w, const struct ms_counters *c)
{
    for (unsigned i = 0; i < MS_ROWS; i++) {
        const struct ms_row *row = &c->rows[i];
        ms_put_varint(w, row->calls);
        if (row->calls == 0)
            continue;
        ms_put_varint(w, row->bytes);
        ms_put_varint(w, row->timed);
        ms_put_varint(w, row->cost);
        ms_put_varint(w, row->min);
        ms_put_varint(w, row->max);
        ms_put_sparse(w, row->hist, ms_hist_bucket(row->min), ms_hist_bucket(row->max) + 1);
    }
    ms_put_varint(w, c->failed_calls);
    ms_put_varint(w, c->failed_bytes);
    ms_put_sparse(w, c->kinds, 0, MS_KIND_LIMIT);
    ms_put_sparse(w, c->tally, 0, MS_TALLIES);
}

// Reads what ms_counters_encode wrote into *c, which must be zeroed. Errors stay in the cursor.
static inline void ms_counters_decode(struct ms_cursor *in, struct ms_counters *c)
{
    for (unsigned i = 0; i < MS_ROWS; i++) {
        struct ms_row *row = &c->rows[i];
        row->calls = ms_get_varint(in);
        if (row->calls == 0)
            continue;
        row->bytes = ms_get_varint(in);
        row->timed = ms_get_varint(in);
        row->cost = ms_get_varint(in);
        row->min = ms_get_varint(in);
        row->max = ms_get_varint(in);
        ms_get_sparse(in, row->hist, MS_HIST_BUCKETS);
    }
    c->failed_calls = ms_get_varint(in);
    c->failed_bytes = ms_get_varint(in);
    ms_get_sparse(in, c->kinds, MS_KIND_LIMIT);
    ms_get_sparse(in, c->tally, MS_TALLIES);
}

// The most that the wire form can take: every varint at its longest.
#define MS_COUNTERS_MAX                                                                            \
    (MS_VARINT_MAX * (MS_ROWS * (7 + 2 * MS_HIST_BUCKETS) + 4 + 2 * MS_KIND_LIMIT + 2 * MS_TALLIES))

#endif
