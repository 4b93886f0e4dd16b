// SPDX-License-Identifier: MIT
// A report computed, before it has a form: what report_text.c and report_json.c both print.
#ifndef MEMSPY_ANALYZER_REPORT_H
#define MEMSPY_ANALYZER_REPORT_H

#include "forks.h"
#include "model.h"
#include "replay.h"

// Call sites that a report may list.
#define MS_REPORT_CALLERS 200

// What memspy itself cost, in nanoseconds of CPU time.
struct ms_own_cost {
    double recording; // of the events, one by one
    double packing;   // of the buffers
    double starting;  // of the processes
    double spawning;  // beside the calls that make processes, reading /proc mostly
    double all;
    double per_event; // recording and packing; not a number without events
};

struct ms_report {
    const char *path;
    struct ms_reader *reader;
    struct ms_replay replay;
    struct ms_findings findings;
    struct ms_fork_groups *forks; // ->all: the calls that made and replaced processes
    double lifetime_ns;           // of all processes, added up
    struct ms_own_cost own;
    double resolution_ns;                // what the timer can tell apart
    bool is_exact;                       // some process was recorded in exact mode
    uint32_t callers[MS_REPORT_CALLERS]; // sites, the most kernel time first, then the most time
    size_t caller_count;
};

// Goes through the trace, whose reader stays the caller's.
void ms_report_run(struct ms_report *report, struct ms_reader *reader, const char *path,
        ms_replay_progress *progress, void *context);

// Why the trace is not all that happened, in words; NULL when nothing hints at it.
const char *ms_report_truncation(const struct ms_report *report);

// Whether the trace holds every event of every process to its end.
bool ms_report_is_complete(const struct ms_report *report);

// Calls of a kind as the program made them, free(NULL) included.
uint64_t ms_report_calls(const struct ms_report *report, unsigned kind);

// Whether nothing of the image's memory could be seen: it has a malloc of its own.
bool ms_report_is_unseen(const struct ms_report *report, const struct ms_process *process);

// What the replay found out about an image.
const struct ms_figures *ms_report_figures(
        const struct ms_report *report, const struct ms_process *process);

void ms_report_free(struct ms_report *report);

// The two forms, to stdout.
void ms_report_print_text(const struct ms_report *report);
void ms_report_print_json(const struct ms_report *report);

#endif
