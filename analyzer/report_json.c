// SPDX-License-Identifier: MIT
// memspy report --json: one object, whose keys are an interface: they may be added to, and may not
// change their meaning. Times are in nanoseconds. Processes and their calls are in
// report_json_family.c.
#include "report_json.h"

#include <math.h>

static void put_trace(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_reader *reader = report->reader;
    ms_json_key(json, "trace");
    ms_json_begin(json);
    ms_json_put_text(json, "file", report->path);
    ms_json_put_bool(json, "complete", ms_report_is_complete(report));
    ms_json_put_number(json, "events", report->replay.totals.events);
    ms_json_put_number(json, "lost", report->replay.lost);
    ms_json_put_bool(json, "loss_known", !reader->cut_short);
    ms_json_put_number(json, "bytes_on_disk", reader->source.size);
    ms_json_put_text(json, "clock", ms_clock_name(&reader->clock));
    ms_json_put_bool(json, "clock_uncertain", reader->clock.uncertain);
    ms_json_put_real(json, "resolution_ns", report->resolution_ns);
    ms_json_put_text(json, "mode", report->is_exact ? "exact" : "structural");
    ms_json_put_bool(json, "truncated", ms_report_truncation(report) != NULL);
    ms_json_put_text(json, "truncated_reason", ms_report_truncation(report));
    ms_json_put_bool(json, "damaged", ms_reader_is_damaged(reader));
    ms_json_put_number(json, "damaged_bytes", reader->damage_bytes);
    ms_json_put_number(json, "missing_buffers", reader->missing_buffers);
    ms_json_put_bool(json, "totals_from_counters", report->replay.uses_counters);
    ms_json_put_number(json, "lost_threads", reader->header.lost_threads);
    ms_json_put_number(json, "unfinished", report->replay.unfinished);
    ms_json_end(json);
}

// Costs of a row; all null when none of its calls was timed.
static void put_ns(struct ms_json *json, const struct ms_report *report, const struct ms_row *row)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    const struct ms_clock_fit *clock = &report->reader->clock;
    double none = row->timed ? 0 : NAN;
    ms_json_key(json, "ns");
    ms_json_begin(json);
    ms_json_put_real(json, "sum", none + ms_clock_ns(clock, ms_row_total(row)));
    ms_json_put_real(json, "min", none + ms_clock_ns(clock, (double)row->min));
    for (unsigned i = 0; i < 3; i++)
        ms_json_put_real(json, quantiles[i].key,
                none + ms_clock_ns(clock, ms_row_quantile(row, quantiles[i].q)));
    ms_json_put_real(json, "max", none + ms_clock_ns(clock, (double)row->max));
    ms_json_end(json);
}

static void put_row(struct ms_json *json, const struct ms_report *report, const char *name,
        const struct ms_row *row)
{
    const struct ms_clock_fit *clock = &report->reader->clock;
    ms_json_key(json, name);
    ms_json_begin(json);
    ms_json_put_number(json, "calls", row->calls);
    ms_json_put_number(json, "bytes", row->bytes);
    put_ns(json, report, row);
    ms_json_key(json, "hist");
    ms_json_list(json);
    for (unsigned i = 0; i < MS_HIST_BUCKETS; i++) {
        if (!row->hist[i])
            continue;
        ms_json_list(json);
        ms_json_real(json, ms_clock_ns(clock, (double)ms_hist_low(i)));
        ms_json_real(json, ms_clock_ns(clock, (double)ms_hist_low(i + 1)));
        ms_json_number(json, (uint64_t)fmax(1, round(ms_row_bucket(row, i))));
        ms_json_list_end(json);
    }
    ms_json_list_end(json);
    ms_json_end(json);
}

static void put_rows(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_totals *totals = &report->replay.totals;
    ms_json_key(json, "alloc");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_ALLOC_PATHS; i++)
        put_row(json, report, ms_alloc_path_name(i), &totals->counters.rows[i]);
    ms_json_end(json);
    ms_json_key(json, "free");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_FREE_PATHS; i++)
        put_row(json, report, ms_free_path_name(i), &totals->counters.rows[MS_ROW_FREE + i]);
    ms_json_end(json);
    ms_json_key(json, "kernel");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_CALLS && report->is_exact; i++)
        put_row(json, report, ms_system_call_name(i), &totals->kernel[i]);
    ms_json_end(json);
}

static void put_calls(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_counters *counters = &report->replay.totals.counters;
    ms_json_key(json, "calls");
    ms_json_begin(json);
    for (unsigned kind = 0; kind < MS_KIND_LIMIT; kind++)
        if (ms_kind_name(kind) && ms_kind_class(kind) != MS_CLASS_KERNEL)
            ms_json_put_number(json, ms_kind_name(kind), ms_report_calls(report, kind));
    ms_json_put_number(json, "malloc_usable_size", counters->tally[MS_TALLY_USABLE_SIZE]);
    ms_json_end(json);
    ms_json_put_number(json, "free_null", counters->tally[MS_TALLY_FREE_NULL]);
    ms_json_key(json, "failed");
    ms_json_begin(json);
    ms_json_put_number(json, "calls", counters->failed_calls);
    ms_json_put_number(json, "bytes", counters->failed_bytes);
    ms_json_end(json);
    ms_json_key(json, "map");
    ms_json_begin(json);
    for (unsigned kind = 0; kind < MS_KIND_LIMIT; kind++) {
        const struct ms_sum *sum = &report->replay.totals.maps[kind];
        if (!ms_kind_name(kind) || ms_kind_class(kind) != MS_CLASS_MAP)
            continue;
        ms_json_key(json, ms_kind_name(kind));
        ms_json_begin(json);
        ms_json_put_number(json, "calls", sum->calls);
        ms_json_put_number(json, "bytes", sum->bytes);
        ms_json_put_real(json, "ns", ms_clock_ns(&report->reader->clock, (double)sum->cost));
        ms_json_put_number(json, "failed", sum->failed);
        ms_json_end(json);
    }
    ms_json_end(json);
}

static void put_live(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_figures *all = &report->replay.all;
    ms_json_key(json, "live");
    ms_json_begin(json);
    ms_json_put_number(json, "bytes", all->live_bytes);
    ms_json_put_number(json, "blocks", all->live_blocks);
    ms_json_put_number(json, "peak_bytes", all->peak_bytes);
    ms_json_put_number(json, "peak_blocks", all->peak_blocks);
    ms_json_put_number(json, "unmatched_frees", all->unmatched_frees);
    ms_json_end(json);
}

static void put_sizes(struct ms_json *json, const struct ms_report *report)
{
    ms_json_key(json, "sizes");
    ms_json_list(json);
    for (unsigned i = 0; i < MS_SIZE_CLASSES; i++) {
        const struct ms_sum *sum = &report->replay.totals.sizes[i];
        if (!sum->calls)
            continue;
        ms_json_list(json);
        ms_json_number(json, i ? UINT64_C(1) << (i - 1) : 0);
        ms_json_number(json, i == 64 ? UINT64_MAX : UINT64_C(1) << i);
        ms_json_number(json, sum->calls);
        ms_json_number(json, sum->bytes);
        ms_json_list_end(json);
    }
    ms_json_list_end(json);
}

static void put_callers(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_sites *sites = &report->replay.totals.sites;
    const struct ms_clock_fit *clock = &report->reader->clock;
    char name[4096 + 32];
    ms_json_key(json, "callers");
    ms_json_list(json);
    for (size_t i = 0; i < report->caller_count; i++) {
        const struct ms_site *site = &sites->list[report->callers[i]];
        ms_site_name(sites, site, name, sizeof name);
        ms_json_begin(json);
        ms_json_put_text(json, "at", name);
        ms_json_put_number(json, "calls", site->calls);
        ms_json_put_number(json, "frees", site->frees);
        ms_json_put_number(json, "bytes", site->bytes);
        ms_json_put_number(json, "kernel_calls", site->kernel_calls);
        ms_json_put_real(json, "kernel_ns", ms_clock_ns(clock, (double)site->kernel_cost));
        ms_json_put_real(json, "ns", ms_clock_ns(clock, (double)site->cost));
        ms_json_key(json, "paths");
        ms_json_begin(json);
        for (unsigned path = 0; path < MS_ALLOC_PATHS; path++)
            if (site->paths[path])
                ms_json_put_number(json, ms_alloc_path_name(path), site->paths[path]);
        ms_json_end(json);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

static void put_overhead(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_totals *totals = &report->replay.totals;
    ms_json_key(json, "overhead");
    ms_json_begin(json);
    ms_json_put_number(json, "events", totals->events);
    ms_json_put_number(json, "timed_events", totals->timed_events);
    ms_json_put_real(json, "ns_per_event", report->own.per_event);
    ms_json_put_real(json, "total_ns", report->own.all);
    ms_json_put_real(json, "seal_ns", report->own.packing);
    ms_json_put_real(json, "start_ns", report->own.starting);
    ms_json_put_real(json, "spawn_ns", report->own.spawning);
    ms_json_put_number(json, "seals", totals->counters.tally[MS_TALLY_SEALS]);
    ms_json_put_real(
            json, "share", report->lifetime_ns > 0 ? report->own.all / report->lifetime_ns : NAN);
    ms_json_end(json);
}

static void put_findings(struct ms_json *json, const struct ms_report *report)
{
    ms_json_key(json, "findings");
    ms_json_list(json);
    for (size_t i = 0; i < report->findings.count; i++) {
        const struct ms_finding *finding = &report->findings.list[i];
        ms_json_begin(json);
        ms_json_put_text(json, "id", finding->id);
        ms_json_put_text(json, "severity", ms_severity_name(finding->severity));
        ms_json_put_text(json, "title", finding->title);
        ms_json_put_text(json, "evidence", finding->evidence);
        ms_json_put_text(json, "advice", finding->advice);
        ms_json_put_real(json, "saving_ns", finding->saving_ns);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

void ms_report_print_json(const struct ms_report *report)
{
    struct ms_json json;
    ms_json_open(&json, stdout, true);
    ms_json_begin(&json);
    ms_json_put_number(&json, "schema", 1);
    put_trace(&json, report);
    ms_report_put_processes(&json, report);
    put_rows(&json, report);
    put_calls(&json, report);
    put_live(&json, report);
    put_sizes(&json, report);
    put_callers(&json, report);
    ms_report_put_spawns(&json, report);
    put_overhead(&json, report);
    put_findings(&json, report);
    ms_json_end(&json);
    ms_json_close(&json);
}
