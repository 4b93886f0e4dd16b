// SPDX-License-Identifier: MIT
// The events of all threads of one process in the order of their time.
#ifndef MEMSPY_ANALYZER_MERGE_H
#define MEMSPY_ANALYZER_MERGE_H

#include "reader.h"

// One thread's events. The next one is read ahead, so that its time is known.
struct ms_stream {
    const struct ms_thread *thread;
    struct ms_batch *batch; // NULL until the thread's time has come, and after its end
    size_t next;            // entry to open next, counted from thread->first
    uint64_t time;          // of `event`: that of the last timed event up to it, in time units
    struct ms_event event;
    bool is_ready;          // `event` is read and not yet delivered
    bool in_live;           // `event` stands in a live block
    uint64_t sealed_events; // read so far from sealed blocks
    uint64_t lost;          // events of malformed blocks that could not be read
    uint64_t holes;         // unfinished events in its live block
};

struct ms_merge {
    struct ms_reader *reader;
    struct ms_stream *streams; // one a thread, in the order of the index
    size_t count;
    struct ms_stream **heap; // by time, the earliest first
    size_t heap_count;
};

// Prepares the events of threads [first, first + count) of the index, which belong to one process.
void ms_merge_open(struct ms_merge *merge, struct ms_reader *reader, size_t first, size_t count);

// The stream whose `event` comes next; it stays valid until the next call. NULL at the end.
struct ms_stream *ms_merge_next(struct ms_merge *merge);

// The streams stay readable, for their counts, until then.
void ms_merge_close(struct ms_merge *merge);

#endif
