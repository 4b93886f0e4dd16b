// SPDX-License-Identifier: MIT
// A hash table with linear probing and deletion by moving back, so that it needs no graves.
//
// Events of different threads come in the order of lower bounds of their times (merge.c): an event
// happened between the timed event at or before it in its thread and the next one. So the free of a
// block by another thread may come before its allocation, and the allocation of an address before
// the free of the block that was there. A thread's epoch is the number of its timed events before
// the time at hand; ticks are coarse, so events at that very time do not count:
//
//   free of an unknown address   remembered with the epoch of the freeing thread. An allocation of
//                                that address by another thread, in the same epoch, is the one
//                                that was freed; in a later one, it came after the free.
//   allocation of a live one     replaces the block. A free that comes in the same epoch of the
//                                allocating thread is that of the block before.
//
// In a process with one thread order is exact and nothing is remembered.
#include "heap.h"

#include <stdlib.h>

#include "memory.h"

enum state {
    STATE_LIVE,
    STATE_FREED, // freed before its allocation was seen
};

static size_t home_of(const struct ms_heap *heap, uint64_t address)
{
    uint64_t hash = (address >> 4 ^ address << 60) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (heap->size - 1);
}

// The place that holds `address`, or the empty one where it would go.
static struct ms_heap_block *place_of(const struct ms_heap *heap, uint64_t address)
{
    size_t at = home_of(heap, address);
    while (heap->places[at].address && heap->places[at].address != address)
        at = (at + 1) & (heap->size - 1);
    return &heap->places[at];
}

static void grow(struct ms_heap *heap)
{
    struct ms_heap_block *old = heap->places;
    size_t old_size = heap->size;
    heap->size = old_size ? old_size * 2 : 1024;
    heap->places = ms_memory_zeroed(heap->size, sizeof *heap->places);
    for (size_t i = 0; i < old_size; i++)
        if (old[i].address)
            *place_of(heap, old[i].address) = old[i];
    free(old);
}

// Empties a place and closes the gap in the run of places behind it.
static void vacate(struct ms_heap *heap, struct ms_heap_block *place)
{
    size_t mask = heap->size - 1;
    size_t hole = (size_t)(place - heap->places);
    for (size_t at = (hole + 1) & mask; heap->places[at].address; at = (at + 1) & mask) {
        size_t home = home_of(heap, heap->places[at].address);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            heap->places[hole] = heap->places[at];
            hole = at;
        }
    }
    heap->places[hole].address = 0;
    heap->used--;
}

static void store(struct ms_heap *heap, struct ms_heap_block *place,
        const struct ms_heap_block *block, enum state state)
{
    heap->used += place->address == 0;
    *place = *block;
    place->epoch = heap->clocks[block->thread].count;
    place->state = (uint8_t)state;
    place->owed = false;
}

static void count_in(struct ms_heap *heap, uint64_t size)
{
    heap->bytes += size;
    heap->blocks++;
    if (heap->bytes > heap->peak_bytes)
        heap->peak_bytes = heap->bytes;
    if (heap->blocks > heap->peak_blocks)
        heap->peak_blocks = heap->blocks;
}

static void count_out(struct ms_heap *heap, uint64_t size)
{
    heap->bytes -= size;
    heap->blocks--;
}

static bool is_same_epoch(const struct ms_heap *heap, const struct ms_heap_block *block)
{
    const struct ms_heap_clock *clock = &heap->clocks[block->thread];
    uint32_t epoch = heap->now > clock->time ? clock->count : clock->before;
    return epoch <= block->epoch;
}

void ms_heap_put(struct ms_heap *heap, const struct ms_heap_block *block)
{
    if (MS_UNLIKELY(2 * (heap->used + 1) > heap->size))
        grow(heap);
    struct ms_heap_block *place = place_of(heap, block->address);
    bool owed = false;
    if (MS_UNLIKELY(place->address)) {
        if (place->state == STATE_FREED && place->thread != block->thread &&
                is_same_epoch(heap, place)) {
            heap->unmatched--;
            vacate(heap, place);
            return;
        }
        if (place->state == STATE_LIVE) {
            count_out(heap, place->size);
            owed = heap->has_threads;
            heap->replaced += !owed;
        }
    }
    store(heap, place, block, STATE_LIVE);
    place->owed = owed;
    count_in(heap, block->size);
}

// Remembers a free whose block is not there.
static void note_unmatched(
        struct ms_heap *heap, struct ms_heap_block *place, uint64_t address, uint32_t thread)
{
    heap->unmatched++;
    if (heap->has_threads)
        store(heap, place, &(struct ms_heap_block){.address = address, .thread = thread},
                STATE_FREED);
}

bool ms_heap_take(
        struct ms_heap *heap, uint64_t address, uint32_t thread, struct ms_heap_block *taken)
{
    if (MS_UNLIKELY(2 * (heap->used + 1) > heap->size))
        grow(heap);
    struct ms_heap_block *place = place_of(heap, address);
    if (!place->address || place->state != STATE_LIVE) {
        note_unmatched(heap, place, address, thread);
        return false;
    }
    *taken = *place;
    if (MS_UNLIKELY(place->owed)) {
        place->owed = false;
        if (is_same_epoch(heap, place))
            return false;
    }
    count_out(heap, place->size);
    vacate(heap, place);
    return true;
}

void ms_heap_free(struct ms_heap *heap)
{
    free(heap->places);
    *heap = (struct ms_heap){0};
}
