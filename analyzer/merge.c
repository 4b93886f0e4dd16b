// SPDX-License-Identifier: MIT
// A k-way merge over a binary heap of streams. Order within a thread is exact. Between threads it
// is as good as the times are: an untimed event has the time of the timed one before it, which is
// a lower bound; replay.c lives with that.
// A thread's first block is opened when its time has come and its last one's memory is freed at
// once, so that memory grows with the threads that run at the same time. A stream that is on top
// of the heap stays there without a comparison as long as its time stands still.
#include "merge.h"

#include <stdlib.h>

#include "memory.h"

static struct ms_entry *entry_of(const struct ms_merge *merge, const struct ms_stream *stream)
{
    return &merge->reader->entries[stream->thread->first + stream->next];
}

// Opens the stream's next block that is not a copy and has events to come. Returns false at the
// end of the thread.
static bool open_next(struct ms_merge *merge, struct ms_stream *stream)
{
    while (stream->next < stream->thread->count) {
        struct ms_entry *entry = entry_of(merge, stream);
        stream->next++;
        if (entry->stale)
            continue;
        stream->in_live = entry->type == MS_BLOCK_LIVE;
        if (ms_reader_batch(merge->reader, entry, stream->batch))
            return true;
        stream->lost += stream->batch->lost;
        ms_reader_malformed(merge->reader, entry);
    }
    return false;
}

static void close_batch(struct ms_stream *stream)
{
    ms_batch_free(stream->batch);
    free(stream->batch);
    stream->batch = NULL;
}

// Reads the stream's next event. Returns false, its memory freed, at the end of the thread.
static bool advance(struct ms_merge *merge, struct ms_stream *stream)
{
    while (!ms_batch_next(stream->batch, &stream->event)) {
        stream->holes += stream->batch->holes;
        stream->lost += stream->batch->lost;
        if (stream->batch->bad)
            ms_reader_malformed(merge->reader, entry_of(merge, stream) - 1);
        if (!open_next(merge, stream)) {
            close_batch(stream);
            return false;
        }
    }
    stream->time = stream->batch->time;
    stream->sealed_events += !stream->in_live;
    return true;
}

static void sift_down(struct ms_merge *merge, size_t at)
{
    struct ms_stream **heap = merge->heap, *moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->heap_count)
            break;
        if (child + 1 < merge->heap_count && heap[child + 1]->time < heap[child]->time)
            child++;
        if (heap[child]->time >= moved->time)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void drop_top(struct ms_merge *merge)
{
    merge->heap[0] = merge->heap[--merge->heap_count];
    if (merge->heap_count)
        sift_down(merge, 0);
}

// When the thread's first buffer began.
static uint64_t begin_of(struct ms_merge *merge, struct ms_stream *stream, struct ms_batch *batch)
{
    for (size_t i = 0; i < stream->thread->count; i++) {
        const struct ms_entry *entry = &merge->reader->entries[stream->thread->first + i];
        if (!entry->stale && ms_reader_batch(merge->reader, entry, batch))
            return batch->base;
    }
    return 0;
}

void ms_merge_open(struct ms_merge *merge, struct ms_reader *reader, size_t first, size_t count)
{
    struct ms_batch batch = {0};
    *merge = (struct ms_merge){.reader = reader, .count = count};
    merge->streams = ms_memory_zeroed(count, sizeof *merge->streams);
    merge->heap = ms_memory_zeroed(count, sizeof(struct ms_stream *));
    for (size_t i = 0; i < count; i++) {
        struct ms_stream *stream = &merge->streams[i];
        stream->thread = &reader->threads[first + i];
        if (count > 1)
            stream->time = begin_of(merge, stream, &batch);
        merge->heap[merge->heap_count++] = stream;
    }
    ms_batch_free(&batch);
    for (size_t i = count / 2; i-- > 0;)
        sift_down(merge, i);
}

// Opens a stream that is on top for the first time.
static bool begin(struct ms_merge *merge, struct ms_stream *stream)
{
    stream->batch = ms_memory_zeroed(1, sizeof *stream->batch);
    if (open_next(merge, stream))
        return true;
    close_batch(stream);
    return false;
}

// Reads the event of the stream on top ahead and puts the stream where it then belongs.
static void make_ready(struct ms_merge *merge, struct ms_stream *stream)
{
    uint64_t before = stream->time;
    if ((!stream->batch && !begin(merge, stream)) || !advance(merge, stream)) {
        drop_top(merge);
        return;
    }
    stream->is_ready = true;
    if (stream->time != before)
        sift_down(merge, 0);
}

struct ms_stream *ms_merge_next(struct ms_merge *merge)
{
    while (merge->heap_count) {
        struct ms_stream *stream = merge->heap[0];
        if (stream->is_ready) {
            stream->is_ready = false;
            return stream;
        }
        make_ready(merge, stream);
    }
    return NULL;
}

void ms_merge_close(struct ms_merge *merge)
{
    for (size_t i = 0; i < merge->count; i++)
        if (merge->streams[i].batch)
            close_batch(&merge->streams[i]);
    free(merge->streams);
    free(merge->heap);
    *merge = (struct ms_merge){0};
}
