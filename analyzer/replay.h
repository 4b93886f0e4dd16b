// SPDX-License-Identifier: MIT
// A trace gone through once, process by process, each in the order of time: the live heaps and the
// totals.
#ifndef MEMSPY_ANALYZER_REPLAY_H
#define MEMSPY_ANALYZER_REPLAY_H

#include "reader.h"
#include "tally.h"

// What the replay found out about one process.
struct ms_figures {
    uint64_t events;
    uint64_t timed_events;
    uint64_t allocations; // events of calls that allocate
    uint64_t threads;
    uint64_t live_bytes, live_blocks; // at its end
    uint64_t peak_bytes, peak_blocks;
    uint64_t unmatched_frees;
    double alloc_ticks;  // what its allocations and frees cost
    uint64_t last_ticks; // of its last block or event
};

struct ms_replay {
    struct ms_reader *reader;
    struct ms_totals totals;
    struct ms_figures *figures; // in the order of reader->processes.list
    struct ms_figures all;      // sums; peaks are those of the process with the highest
    uint64_t lost;              // events that the trace does not hold
    uint64_t unfinished;        // events begun and not finished when their process died
    bool uses_counters;         // exact counters stand in for missing buffers
};

// Called now and then with the number of events done; for a progress bar. May be NULL.
typedef void ms_replay_progress(void *context, uint64_t events);

// Goes through the trace. The reader must be in the order of its threads.
void ms_replay_run(struct ms_replay *replay, struct ms_reader *reader, ms_replay_progress *progress,
        void *context);

// The time the processes ran, added up, in ticks.
double ms_replay_lifetime(const struct ms_replay *replay);

// What recording the events cost, in ticks, and starting to record in the processes, in nanoseconds
// of CPU time, by what the shim measured of itself.
double ms_replay_event_cost(const struct ms_replay *replay);
double ms_replay_setup_cost(const struct ms_replay *replay);

void ms_replay_free(struct ms_replay *replay);

#endif
