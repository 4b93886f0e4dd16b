// SPDX-License-Identifier: MIT
// What the cost of fork depends on: lines through the costs of calls against the page tables and
// the resident memory of the process that made them. They stand up to outliers.
#ifndef MEMSPY_ANALYZER_FORK_MODEL_H
#define MEMSPY_ANALYZER_FORK_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

// A call of fork, _Fork or clone without CLONE_VM that succeeded. vfork and posix_spawn copy no
// page tables and do not belong here, nor does forkpty, whose cost is also that of opening a
// terminal. A size of 0 is one that is not known.
struct ms_fork_point {
    double ns;
    double rss_kb; // VmRSS
    double pte_kb; // VmPTE
    double vsz_kb; // VmSize
};

// cost = base + slope * size
struct ms_line {
    bool is_known;   // there are three levels of size or more, that differ enough
    double base_ns;  // not a number unless is_known, as the others
    double slope_ns; // per KiB
    double least_kb; // the least size, where the line begins: base_ns is what would be at size 0
    double r2;       // share of the variance of the costs, outliers left out, that it explains
    size_t n;        // calls
    size_t outliers; // calls among them whose cost is far off the line
    size_t levels;   // sizes that differ, a few page tables more or less being the same
    bool explains;   // the cost rises with the size, and r2 is at least a half
};

enum ms_fork_cause { MS_FORK_CAUSE_UNKNOWN, MS_FORK_CAUSE_PTE, MS_FORK_CAUSE_RSS };

// Two groups of calls with page tables alike and virtual sizes far apart, at costs alike.
struct ms_untouched {
    bool is_known;
    size_t n[2];       // calls: of the smaller virtual size, of the larger one
    double pte_kb;     // median of all
    double vsz_kb[2];  // medians
    double ns[2];      // medians
    double touched_ns; // what the difference in size would have cost if it was touched, by the
                       // line over VmRSS; not a number if that is not known
};

struct ms_fork_model {
    size_t n; // points
    struct ms_line by_pte;
    struct ms_line by_rss;
    bool is_tie;              // both explain the cost, neither better than the other
    enum ms_fork_cause cause; // which of them explains it; of a tie the more useful one
    struct ms_untouched untouched;
};

// Takes O(n log n) time. The points are only read.
void ms_fork_model_fit(struct ms_fork_model *model, const struct ms_fork_point *points, size_t n);

// The line of the variable that explains the cost, else the better one that is known, else NULL.
const struct ms_line *ms_fork_model_best(const struct ms_fork_model *model);

// What a fork at that size costs by the model; not a number when no variable explains the cost.
double ms_fork_model_ns(const struct ms_fork_model *model, double pte_kb, double rss_kb);

// "VmPTE", "RSS", or NULL.
const char *ms_fork_cause_name(enum ms_fork_cause cause);

#define MS_FORK_SENTENCE 512

// Writes at most MS_FORK_SENTENCE bytes and returns `line`: what explains the cost, or why nothing
// is said.
const char *ms_fork_model_cause(
        const struct ms_fork_model *model, const struct ms_text *text, char *line);

// The same for how much untouched memory did not matter. NULL if the calls do not show it.
const char *ms_fork_model_untouched(
        const struct ms_fork_model *model, const struct ms_text *text, char *line);

#endif
