// SPDX-License-Identifier: MIT
// The index after the scan: sorted by thread and buffer, so that what belongs together stands
// together. The same buffer may be there twice, once live and once sealed, because a process was
// killed between sealing it and emptying it: the sealed block counts if it is whole, else the live
// one, and then nothing is lost. A frame that is not whole is what the kill left, and no damage; a
// whole frame with malformed content is damage all the same.
#include "index.h"

#include <stdlib.h>

#include "memory.h"

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// By process, thread and buffer; a sealed block before the live one of the same buffer.
static int by_thread(const void *a, const void *b)
{
    const struct ms_entry *x = a, *y = b;
    int order = compare(x->process, y->process);
    if (!order)
        order = compare(x->thread, y->thread);
    if (!order)
        order = compare(x->sequence, y->sequence);
    if (!order)
        order = compare(x->type, y->type);
    return order ? order : compare(x->offset, y->offset);
}

static int by_offset(const void *a, const void *b)
{
    return compare(((const struct ms_entry *)a)->offset, ((const struct ms_entry *)b)->offset);
}

static bool holds_events(const struct ms_entry *entry)
{
    return entry->type == MS_BLOCK_EVENTS || entry->type == MS_BLOCK_LIVE;
}

static bool is_same_buffer(const struct ms_entry *a, const struct ms_entry *b)
{
    return holds_events(a) && holds_events(b) && a->process == b->process &&
           a->thread == b->thread && a->sequence == b->sequence;
}

static bool is_found_elsewhere(const struct ms_reader *reader, size_t at)
{
    const struct ms_entry *entries = reader->entries;
    return (at > 0 && !entries[at - 1].failed && is_same_buffer(&entries[at], &entries[at - 1])) ||
           (at + 1 < reader->entry_count && is_same_buffer(&entries[at], &entries[at + 1]));
}

// A sealed block may stand in for another of its buffer only if all of it can be read.
static void judge_copies(struct ms_reader *reader)
{
    for (size_t i = 0; i < reader->entry_count; i++) {
        struct ms_entry *entry = &reader->entries[i];
        bool has_copy = (i > 0 && is_same_buffer(entry, entry - 1)) ||
                        (i + 1 < reader->entry_count && is_same_buffer(entry, entry + 1));
        if (entry->type == MS_BLOCK_EVENTS && !entry->failed && has_copy &&
                !ms_reader_is_sound(reader, entry))
            ms_reader_malformed(reader, entry);
    }
}

// Marks copies. Blocks whose payload failed are damage, unless their buffer is there all the same;
// those of events stay, marked, because their headers still tell what is missing.
static void clean(struct ms_reader *reader)
{
    size_t kept = 0;
    for (size_t i = 0; i < reader->entry_count; i++) {
        struct ms_entry entry = reader->entries[i];
        if (entry.failed) {
            if (is_found_elsewhere(reader, i))
                continue;
            ms_reader_malformed(reader, &entry);
            if (!holds_events(&entry))
                continue;
        }
        struct ms_entry *before = kept ? &reader->entries[kept - 1] : NULL;
        entry.stale = entry.failed || (before && is_same_buffer(before, &entry));
        reader->entries[kept++] = entry;
    }
    reader->entry_count = kept;
}

static struct ms_thread *thread_add(struct ms_reader *reader, size_t at)
{
    const struct ms_entry *entry = &reader->entries[at];
    reader->threads = ms_memory_grow(reader->threads, reader->thread_count + 1,
            &reader->thread_capacity, sizeof *reader->threads);
    struct ms_thread *thread = &reader->threads[reader->thread_count++];
    *thread = (struct ms_thread){.process = entry->process, .thread = entry->thread, .first = at};
    return thread;
}

// Groups the entries by thread. Buffers count from 1, so a gap tells how many are missing.
static void group(struct ms_reader *reader)
{
    struct ms_thread *thread = NULL;
    uint64_t sequence = 0;
    for (size_t i = 0; i < reader->entry_count; i++) {
        const struct ms_entry *entry = &reader->entries[i];
        if (!holds_events(entry))
            continue;
        if (!thread || thread->process != entry->process || thread->thread != entry->thread) {
            thread = thread_add(reader, i);
            sequence = 0;
        }
        thread->count = i + 1 - thread->first;
        if (entry->stale && !entry->failed)
            continue;
        thread->missing += entry->sequence > sequence ? entry->sequence - sequence - 1 : 0;
        thread->missing += entry->failed;
        if (entry->failed)
            thread->tail_events += entry->events;
        else if (entry->type == MS_BLOCK_EVENTS)
            thread->tail_events = 0;
        thread->has_live = entry->type == MS_BLOCK_LIVE;
        sequence = entry->sequence;
    }
    for (size_t i = 0; i < reader->thread_count; i++)
        reader->missing_buffers += reader->threads[i].missing;
}

void ms_index_build(struct ms_reader *reader)
{
    if (reader->entry_count)
        qsort(reader->entries, reader->entry_count, sizeof *reader->entries, by_thread);
    judge_copies(reader);
    clean(reader);
    group(reader);
}

void ms_index_order_by_file(struct ms_reader *reader)
{
    if (reader->entry_count)
        qsort(reader->entries, reader->entry_count, sizeof *reader->entries, by_offset);
}
