// SPDX-License-Identifier: MIT
// The live heap of one process: which blocks are allocated, at which address, by whom.
#ifndef MEMSPY_ANALYZER_HEAP_H
#define MEMSPY_ANALYZER_HEAP_H

#include <memspy/base.h>

// A block, or a place in the table.
struct ms_heap_block {
    uint64_t address; // 0: the place is empty
    uint64_t size;
    uint32_t site;   // of the allocation (site.h)
    uint32_t thread; // who allocated it, or freed it too early: slot in `clocks`
    uint32_t epoch;  // that thread's timed events up to then
    uint8_t state;   // private to heap.c
    bool owed;       // private to heap.c: a free of the block before at this address may come
};

// How far a thread has come.
struct ms_heap_clock {
    uint64_t time;   // of its latest timed event, in time units
    uint32_t count;  // of its timed events
    uint32_t before; // of them, those before `time`
};

struct ms_heap {
    struct ms_heap_block *places;
    size_t size; // places, a power of two
    size_t used;
    uint64_t bytes; // live
    uint64_t blocks;
    uint64_t peak_bytes;
    uint64_t peak_blocks;
    uint64_t unmatched;           // frees of blocks whose allocation was not seen
    uint64_t replaced;            // allocations at a live address: its free was not seen
    struct ms_heap_clock *clocks; // one a thread, the owner's of the heap
    uint64_t now;                 // the time of the event at hand
    bool has_threads; // more than one: events of different threads may come in the wrong order
};

// Tells that an event of `thread` comes next, at `time`.
MS_INLINE void ms_heap_tick(struct ms_heap *heap, uint32_t thread, uint64_t time, bool is_timed)
{
    struct ms_heap_clock *clock = &heap->clocks[thread];
    heap->now = time;
    if (!is_timed)
        return;
    if (clock->time != time)
        clock->before = clock->count;
    clock->time = time;
    clock->count++;
}

// Adds a block.
void ms_heap_put(struct ms_heap *heap, const struct ms_heap_block *block);

// Takes away the block at `address`, copied to *taken. Returns false when none is there; then the
// free is remembered in case its allocation is yet to come.
bool ms_heap_take(
        struct ms_heap *heap, uint64_t address, uint32_t thread, struct ms_heap_block *taken);

void ms_heap_free(struct ms_heap *heap);

#endif
