// SPDX-License-Identifier: MIT
// Findings: patterns in the totals that cost time without need, each with its evidence, what to do
// about it, and what that would save.
#ifndef MEMSPY_ANALYZER_MODEL_H
#define MEMSPY_ANALYZER_MODEL_H

#include "clock.h"
#include "tally.h"

struct ms_forks;
struct ms_replay;

// By the share of the run time that could be saved: from 1 % a warning, from 10 % critical.
enum ms_severity { MS_SEVERITY_INFO, MS_SEVERITY_WARNING, MS_SEVERITY_CRITICAL };

struct ms_finding {
    const char *id; // stable: scripts rely on it
    enum ms_severity severity;
    char title[256];
    char evidence[512];
    const char *advice;
    double saving_ns; // an estimate; not a number if there is none
};

struct ms_findings {
    struct ms_finding *list; // the largest saving first
    size_t count;
    size_t capacity;
};

// Applies every rule about allocations. `lifetime_ns` is the time the processes ran.
void ms_model_find(struct ms_findings *findings, const struct ms_totals *totals,
        const struct ms_clock_fit *clock, double lifetime_ns);

// Applies every rule about the calls that make and replace processes: see model_spawn.h. `forks`
// and `replay` are of the same trace; their samples get sorted.
void ms_model_find_spawns(struct ms_findings *findings, const struct ms_replay *replay,
        struct ms_forks *forks, double lifetime_ns);

// Adds a finding, whose title and evidence are the caller's to fill in before the next one is
// added. Its severity follows from the share of the saving in `lifetime_ns`.
struct ms_finding *ms_model_add(struct ms_findings *findings, const char *id, const char *advice,
        double saving_ns, double lifetime_ns);

// The largest saving first, those without one last.
void ms_model_sort(struct ms_findings *findings);

const char *ms_severity_name(enum ms_severity severity);

// What an allocation, or a free, costs that stays in user space.
struct ms_baseline {
    const char *path; // that it is the median of: "arena", "thread cache"; NULL if it is not known
    double ticks;     // 0 if it is not known
};

// The arena's, or the thread cache's where too few calls of the arena were timed.
struct ms_baseline ms_model_baseline(const struct ms_totals *totals, bool frees);

void ms_model_free(struct ms_findings *findings);

#endif
