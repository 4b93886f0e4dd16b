// SPDX-License-Identifier: MIT
// What the analyzer makes of a trace that was built in memory.
#ifndef MEMSPY_TESTS_THROUGH_H
#define MEMSPY_TESTS_THROUGH_H

#include "build.h"
#include "check.h"

#include "../../analyzer/replay.h"

#define LIVE_SIZE 4096

// What was read of a trace.
struct found {
    uint64_t events;
    uint64_t lost;
    uint64_t unfinished;
    size_t damages;
    uint64_t damage_offset;
    uint64_t damage_size;
    uint64_t missing;
    uint64_t rows; // calls that the counters tell of
    uint64_t status;
    uint64_t pid;
    bool known;
    bool truncated;
    const char *end; // a word of the contract
    size_t mappings;
};

// Goes through the trace as report does, and closes the file.
static inline struct found go_through(struct build *b)
{
    struct found found = {0};
    struct ms_reader reader = {0};
    struct ms_replay *replay = build_alloc(sizeof *replay);
    build_end(b);
    ms_source_memory(&reader.source, b->bytes, b->size);
    assert_int_equal(ms_reader_open(&reader), MS_OK);
    ms_replay_run(replay, &reader, NULL, NULL);
    found.events = replay->all.events;
    found.lost = replay->lost;
    found.unfinished = replay->unfinished;
    found.missing = reader.missing_buffers;
    found.truncated = ms_reader_is_truncated(&reader);
    for (unsigned i = 0; i < MS_ROWS; i++)
        found.rows += replay->totals.counters.rows[i].calls;
    found.damages = reader.damage_count;
    if (reader.damage_count) {
        found.damage_offset = reader.damage[0].offset;
        found.damage_size = reader.damage[0].size;
    }
    const struct ms_process *process = ms_process_find(&reader.processes, 1);
    assert_non_null(process);
    found.known = process->known;
    found.pid = process->number[MS_PROCESS_PID];
    found.status = process->ending.status;
    found.end = ms_fate_name(process->ending.fate);
    found.mappings = process->modules ? process->modules->count : 0;
    ms_replay_free(replay);
    free(replay);
    ms_reader_close(&reader);
    free(b->bytes);
    return found;
}

#endif
