// SPDX-License-Identifier: MIT
// From clock ticks to nanoseconds: the rate is fitted through the two pairs of (ticks,
// CLOCK_MONOTONIC) of the trace that lie furthest apart.
#ifndef MEMSPY_ANALYZER_CLOCK_H
#define MEMSPY_ANALYZER_CLOCK_H

#include <memspy/format.h>

struct ms_clock_fit {
    uint32_t clock; // enum ms_clock
    uint32_t tick_shift;
    uint64_t start_ticks; // of the trace
    uint64_t start_ns;
    uint64_t first_ticks, first_ns; // the pairs furthest apart so far
    uint64_t last_ticks, last_ns;
    double ns_per_tick;
    bool uncertain; // the pairs lie too close together for a rate worth its name
};

// Begins a fit with the pair of the file's header; `header` may be damaged.
void ms_clock_begin(struct ms_clock_fit *fit, const struct ms_file_header *header);

// Adds a pair; pairs of zeros are ignored.
void ms_clock_pair(struct ms_clock_fit *fit, uint64_t ticks, uint64_t mono_ns);

// Ends the fit; then the conversions work.
void ms_clock_end(struct ms_clock_fit *fit);

// A duration in ticks, in nanoseconds.
MS_INLINE double ms_clock_ns(const struct ms_clock_fit *fit, double ticks)
{
    return ticks * fit->ns_per_tick;
}

// A moment in ticks, in nanoseconds since the start of the trace; negative before it.
double ms_clock_at(const struct ms_clock_fit *fit, uint64_t ticks);

// "tsc", "monotonic", "cntvct" or "unknown".
const char *ms_clock_name(const struct ms_clock_fit *fit);

#endif
