// SPDX-License-Identifier: MIT
// Findings: patterns in the totals that cost time without need, each with its evidence, what to do
// about it, and what that would save.
#ifndef MEMSPY_ANALYZER_MODEL_H
#define MEMSPY_ANALYZER_MODEL_H

#include "clock.h"
#include "tally.h"

// By the share of the run time that could be saved: from 1 % a warning, from 10 % critical.
enum ms_severity { MS_SEVERITY_INFO, MS_SEVERITY_WARNING, MS_SEVERITY_CRITICAL };

struct ms_finding {
    const char *id; // stable: scripts rely on it
    enum ms_severity severity;
    char title[256];
    char evidence[512];
    const char *advice;
    double saving_ns; // an estimate
};

struct ms_findings {
    struct ms_finding *list; // the largest saving first
    size_t count;
    size_t capacity;
};

// Applies every rule. `lifetime_ns` is the time the processes ran.
void ms_model_find(struct ms_findings *findings, const struct ms_totals *totals,
        const struct ms_clock_fit *clock, double lifetime_ns);

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
