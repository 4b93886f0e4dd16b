// SPDX-License-Identifier: MIT
// The two reads of a pair are some 50 ns apart at worst without a preemption: over a millisecond
// that is an error of 0.01 %, over ten microseconds 1 %. A shorter span than a millisecond is used
// all the same, there being nothing better, and called uncertain.
#include "clock.h"

#define SPAN_MIN_NS 1000000

void ms_clock_begin(struct ms_clock_fit *fit, const struct ms_file_header *header)
{
    *fit = (struct ms_clock_fit){
            .clock = header->clock,
            .tick_shift = header->tick_shift < 32 ? header->tick_shift : 0,
            .start_ticks = header->start_ticks,
            .start_ns = header->start_mono_ns,
    };
    ms_clock_pair(fit, header->start_ticks, header->start_mono_ns);
}

void ms_clock_pair(struct ms_clock_fit *fit, uint64_t ticks, uint64_t mono_ns)
{
    if (ticks == 0 || mono_ns == 0)
        return;
    if (fit->first_ticks == 0 || ticks < fit->first_ticks) {
        fit->first_ticks = ticks;
        fit->first_ns = mono_ns;
    }
    if (ticks > fit->last_ticks) {
        fit->last_ticks = ticks;
        fit->last_ns = mono_ns;
    }
}

void ms_clock_end(struct ms_clock_fit *fit)
{
    if (fit->start_ticks == 0) {
        fit->start_ticks = fit->first_ticks;
        fit->start_ns = fit->first_ns;
    }
    fit->ns_per_tick = 1;
    if (fit->clock == MS_CLOCK_MONOTONIC)
        return;
    uint64_t ticks = fit->last_ticks - fit->first_ticks;
    uint64_t ns = fit->last_ns > fit->first_ns ? fit->last_ns - fit->first_ns : 0;
    fit->uncertain = ns < SPAN_MIN_NS;
    if (ticks && ns)
        fit->ns_per_tick = (double)ns / (double)ticks;
}

double ms_clock_at(const struct ms_clock_fit *fit, uint64_t ticks)
{
    return ms_clock_ns(fit, (double)(int64_t)(ticks - fit->start_ticks));
}

const char *ms_clock_name(const struct ms_clock_fit *fit)
{
    switch (fit->clock) {
    case MS_CLOCK_TSC:
        return "tsc";
    case MS_CLOCK_MONOTONIC:
        return "monotonic";
    case MS_CLOCK_CNTVCT:
        return "cntvct";
    default:
        return "unknown";
    }
}
