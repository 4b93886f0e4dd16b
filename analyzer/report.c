// SPDX-License-Identifier: MIT
// Runs the replay and the model and picks what a report shows.
#include "report.h"

#include <stdlib.h>

#include "memory.h"

// Whether site x comes before site y.
static bool comes_before(const struct ms_site *x, const struct ms_site *y)
{
    if (x->kernel_cost != y->kernel_cost)
        return x->kernel_cost > y->kernel_cost;
    return x->cost != y->cost ? x->cost > y->cost : x->calls > y->calls;
}

// Keeps the first MS_REPORT_CALLERS by insertion: the list is short and most sites miss it.
static void pick_callers(struct ms_report *report)
{
    const struct ms_sites *sites = &report->replay.totals.sites;
    for (uint32_t i = 1; i < sites->count; i++) {
        size_t at = report->caller_count;
        while (at && comes_before(&sites->list[i], &sites->list[report->callers[at - 1]]))
            at--;
        if (at == MS_REPORT_CALLERS)
            continue;
        if (report->caller_count < MS_REPORT_CALLERS)
            report->caller_count++;
        memmove(&report->callers[at + 1], &report->callers[at],
                (report->caller_count - at - 1) * sizeof report->callers[0]);
        report->callers[at] = i;
    }
}

static void note_processes(struct ms_report *report)
{
    const struct ms_processes *processes = &report->reader->processes;
    uint64_t resolution = 1;
    for (size_t i = 0; i < processes->count; i++) {
        const uint64_t *number = processes->list[i].number;
        report->is_exact |= (number[MS_PROCESS_FLAGS] & MS_PROCESS_EXACT) != 0;
        if (number[MS_PROCESS_RESOLUTION_TICKS] > resolution)
            resolution = number[MS_PROCESS_RESOLUTION_TICKS];
    }
    report->resolution_ns = ms_clock_ns(&report->reader->clock, (double)resolution);
}

// Ticks that the shim spent around the calls that make processes.
static double around_spawns(const struct ms_spawns *spawns)
{
    double ticks = 0;
    for (size_t i = 0; i < spawns->count; i++)
        ticks += (double)spawns->list[i].number[MS_SPAWN_P_OWN];
    return ticks;
}

static void note_own_cost(struct ms_report *report)
{
    const struct ms_replay *replay = &report->replay;
    const struct ms_clock_fit *clock = &report->reader->clock;
    struct ms_own_cost *own = &report->own;
    own->recording = ms_clock_ns(clock, ms_replay_event_cost(replay));
    own->packing = (double)replay->totals.counters.tally[MS_TALLY_SEAL_NS];
    own->starting = ms_replay_setup_cost(replay);
    own->spawning = ms_clock_ns(clock, around_spawns(&report->reader->spawns));
    own->all = own->recording + own->packing + own->starting + own->spawning;
    own->per_event = (own->recording + own->packing) / (double)replay->totals.events;
}

void ms_report_run(struct ms_report *report, struct ms_reader *reader, const char *path,
        ms_replay_progress *progress, void *context)
{
    report->path = path;
    report->reader = reader;
    ms_replay_run(&report->replay, reader, progress, context);
    report->lifetime_ns = ms_clock_ns(&reader->clock, ms_replay_lifetime(&report->replay));
    note_own_cost(report);
    note_processes(report);
    pick_callers(report);
    report->forks = ms_memory_zeroed(1, sizeof *report->forks);
    ms_forks_run(report->forks, &reader->family, &reader->clock, MS_FORK_BY_NONE);
    ms_model_find(&report->findings, &report->replay.totals, &reader->clock, report->lifetime_ns);
    ms_model_find_spawns(
            &report->findings, &report->replay, &report->forks->all, report->lifetime_ns);
}

const char *ms_report_truncation(const struct ms_report *report)
{
    if (report->reader->header.lost_events || report->reader->header.lost_threads)
        return "there was no space for all of it";
    if (report->reader->cut_short)
        return "the file is cut short";
    if (report->reader->processes.count == 0)
        return "its process was killed as it started";
    if (ms_reader_is_truncated(report->reader))
        return "a process did not say how it ended: it was killed or is still running";
    return NULL;
}

bool ms_report_is_complete(const struct ms_report *report)
{
    return !ms_reader_is_damaged(report->reader) && !ms_reader_is_truncated(report->reader) &&
           report->replay.lost == 0 && report->reader->header.lost_threads == 0;
}

uint64_t ms_report_calls(const struct ms_report *report, unsigned kind)
{
    const struct ms_counters *counters = &report->replay.totals.counters;
    return counters->kinds[kind] + (kind == MS_KIND_FREE ? counters->tally[MS_TALLY_FREE_NULL] : 0);
}

const struct ms_figures *ms_report_figures(
        const struct ms_report *report, const struct ms_process *process)
{
    return &report->replay.figures[process - report->reader->processes.list];
}

bool ms_report_is_unseen(const struct ms_report *report, const struct ms_process *process)
{
    return (process->number[MS_PROCESS_FLAGS] & MS_PROCESS_UNSEEN) &&
           ms_report_figures(report, process)->allocations == 0;
}

void ms_report_free(struct ms_report *report)
{
    ms_replay_free(&report->replay);
    ms_model_free(&report->findings);
    ms_forks_free(report->forks);
    free(report->forks);
}
