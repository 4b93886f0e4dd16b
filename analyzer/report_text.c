// SPDX-License-Identifier: MIT
// memspy report for people: what ran, the ladder of allocation paths with its prices, who stands on
// the dear rungs, what is left allocated, and what could be done. Sections without content are left
// out; what is not known is printed as "unknown". Histograms are drawn in report_charts.c;
// processes and spawns are in report_text_family.c.
#include "report_text.h"

#include <inttypes.h>
#include <math.h>

#define CALLERS_SHOWN 10
// Where the values of the header's fields begin.
#define FIELD_INDENT   13
#define FINDINGS_SHOWN 10

static const char *or_unknown(const char *text)
{
    return text && *text ? text : "unknown";
}

// The command line as one text, cut at its end to what is left of the line.
static void print_argv(const struct ms_report_text *out, const struct ms_process *process)
{
    const char *argument = ms_process_argument(process, NULL);
    char line[MS_ARGV_MAX + 4096] = "";
    size_t size = 0;
    if (!argument)
        snprintf(line, sizeof line, "%s", or_unknown(process->text[MS_PROCESS_EXE]));
    for (; argument && size < sizeof line; argument = ms_process_argument(process, argument))
        size += (size_t)snprintf(
                line + size, sizeof line - size, "%s%s", size ? " " : "", argument);
    ms_text_untrusted_begin(&out->text, line, out->text.width - FIELD_INDENT);
    putchar('\n');
}

// The value is broken at the width, under itself.
static void print_field(const struct ms_report_text *out, const char *name, const char *value)
{
    ms_text_styled(&out->text, MS_STYLE_DIM, "  %-10s ", name);
    ms_text_continued(&out->text, FIELD_INDENT, FIELD_INDENT, value);
}

static void print_own_cost(const struct ms_report_text *out)
{
    const struct ms_report *report = out->report;
    const struct ms_own_cost *own = &report->own;
    char line[384], cells[7][MS_CELL];
    snprintf(line, sizeof line,
            "%s of CPU time: %s recording, %s packing, %s starting, %s beside forks (%s of the "
            "run "
            "time), "
            "%s an event%s",
            ms_text_ns(&out->text, cells[0], own->all),
            ms_text_ns(&out->text, cells[1], own->recording),
            ms_text_ns(&out->text, cells[2], own->packing),
            ms_text_ns(&out->text, cells[3], own->starting),
            ms_text_ns(&out->text, cells[4], own->spawning),
            ms_text_share(cells[5], own->all, report->lifetime_ns),
            ms_text_ns(&out->text, cells[6], own->per_event),
            report->is_exact ? "; the delivery of signals is not included" : "");
    print_field(out, "own cost", line);
}

static void print_recording(const struct ms_report_text *out)
{
    const struct ms_report *report = out->report;
    const struct ms_totals *totals = &report->replay.totals;
    char line[256], events[MS_CELL], ns[MS_CELL], size[MS_CELL];
    snprintf(line, sizeof line, "%s in %zu %s, %" PRIu64 " %s; trace of %s",
            ms_text_count(events, totals->events), report->reader->processes.count,
            ms_text_plural(report->reader->processes.count, "process", "processes"),
            report->replay.all.threads,
            ms_text_plural(report->replay.all.threads, "thread", "threads"),
            ms_text_size(size, report->reader->source.size));
    print_field(out, "events", line);
    snprintf(line, sizeof line, "%s%s, resolution %s; kernel use known by %s",
            ms_clock_name(&report->reader->clock),
            report->reader->clock.uncertain ? " (rate uncertain: the trace is too short)" : "",
            ms_text_ns(&out->text, ns, report->resolution_ns),
            report->is_exact ? "system calls (exact mode)" : "structure");
    print_field(out, "clock", line);
    snprintf(line, sizeof line, "%s%s %s lost%s",
            report->reader->cut_short ? "unknown; at least " : "",
            ms_text_count(events, report->replay.lost),
            ms_text_plural(report->replay.lost, "event", "events"),
            report->replay.uses_counters ? "; path totals come from exact counters" : "");
    if (report->reader->cut_short && report->replay.lost == 0)
        snprintf(line, sizeof line, "unknown");
    print_field(out, "loss", line);
    print_own_cost(out);
    if (ms_report_truncation(report))
        print_field(out, "truncated", ms_report_truncation(report));
}

static void print_header(const struct ms_report_text *out)
{
    const struct ms_report *report = out->report;
    const struct ms_processes *processes = &report->reader->processes;
    char ns[MS_CELL], line[64];
    ms_text_styled(&out->text, MS_STYLE_BOLD, "memspy report of ");
    ms_text_untrusted(&out->text, report->path, 1000);
    putchar('\n');
    if (processes->count) {
        const struct ms_process *first = &processes->list[0];
        ms_text_styled(&out->text, MS_STYLE_DIM, "  %-10s ", "command");
        print_argv(out, first);
        snprintf(line, sizeof line, "%s%s", ms_text_ns(&out->text, ns, report->lifetime_ns),
                processes->count > 1 ? " of all processes, added up" : "");
        print_field(out, "run time", line);
        print_field(out, "libc", or_unknown(first->text[MS_PROCESS_LIBC]));
        print_field(out, "allocator", or_unknown(first->text[MS_PROCESS_ALLOCATOR]));
    }
    print_recording(out);
}

// A cost, or that it is below what the timer can tell.
static void cost_cell(const struct ms_report_text *out, struct ms_table *table, double ticks)
{
    char ns[MS_CELL], cell[MS_CELL + 8];
    double value = ms_clock_ns(&out->report->reader->clock, ticks);
    bool is_below = value < out->report->resolution_ns;
    ms_text_ns(&out->text, ns, is_below ? out->report->resolution_ns : value);
    snprintf(cell, sizeof cell, "%s%s", is_below ? "<" : "", ns);
    ms_table_cell(table, cell);
}

// The rows of a table added up. Its total is the sum of theirs, which the timed calls of all rows
// together would not give: the rows are not timed alike.
struct row_sum {
    struct ms_row row;
    double total;
};

static void sum_rows(struct row_sum *all, const struct ms_row *rows, unsigned count)
{
    memset(all, 0, sizeof *all);
    for (unsigned i = 0; i < count; i++) {
        ms_row_merge(&all->row, &rows[i]);
        all->total += ms_row_total(&rows[i]);
    }
}

static void row_cells(const struct ms_report_text *out, struct ms_table *table, const char *name,
        const struct ms_row *row, const struct row_sum *all)
{
    double total = row == &all->row ? all->total : ms_row_total(row);
    char cell[MS_CELL];
    ms_table_cell(table, name);
    ms_table_cell(table, ms_text_count(cell, row->calls));
    ms_table_cell(table, ms_text_share(cell, (double)row->calls, (double)all->row.calls));
    ms_table_cell(table, ms_text_size(cell, row->bytes));
    if (!row->timed) {
        for (unsigned i = 0; i < 6; i++)
            ms_table_cell(table, i < 5 ? "unknown" : "-");
        return;
    }
    cost_cell(out, table, ms_row_quantile(row, 0.5));
    cost_cell(out, table, ms_row_quantile(row, 0.9));
    cost_cell(out, table, ms_row_quantile(row, 0.99));
    cost_cell(out, table, (double)row->max);
    ms_table_cell(
            table, ms_text_ns(&out->text, cell, ms_clock_ns(&out->report->reader->clock, total)));
    ms_table_cell(table, ms_text_share(cell, total, all->total));
}

#define P99_COLUMN 6

static void print_rows(const struct ms_report_text *out, const char *title,
        const struct ms_row *rows, unsigned count, const char *(*name)(unsigned))
{
    static const char *const titles[] = {
            "path", "calls", "share", "bytes", "p50", "p90", "p99", "max", "total", "share"};
    struct ms_table table = {.align = "lrrrrrrrrr"};
    struct row_sum all;
    sum_rows(&all, rows, count);
    if (!all.row.calls)
        return;
    ms_text_heading(&out->text, title);
    for (unsigned i = 0; i < 10; i++)
        ms_table_cell(&table, titles[i]);
    // From the cheapest rung up; what is not known at the end.
    for (unsigned i = 1; i <= count; i++)
        if (rows[i % count].calls)
            row_cells(out, &table, name(i % count), &rows[i % count], &all);
    row_cells(out, &table, "all", &all.row, &all);
    // First p99 goes, then max, which has moved into its place.
    ms_table_narrow(&table, &out->text, P99_COLUMN);
    ms_table_narrow(&table, &out->text, P99_COLUMN);
    ms_table_print(&table, &out->text);
}

// The calls that touched the kernel: in exact mode those in which a system call was seen, else
// those of the paths that do.
static void sum_touched(
        const struct ms_report_text *out, bool frees, uint64_t *calls, double *total)
{
    const struct ms_totals *totals = &out->report->replay.totals;
    unsigned first = frees ? MS_ROW_FREE : 0, end = frees ? MS_ROWS : MS_ROW_FREE;
    *calls = totals->touched[frees].calls;
    *total = (double)totals->touched[frees].cost;
    if (out->report->is_exact)
        return;
    *calls = 0;
    *total = 0;
    for (unsigned i = first; i < end; i++) {
        if (!ms_row_is_kernel(i))
            continue;
        *calls += totals->counters.rows[i].calls;
        *total += ms_row_total(&totals->counters.rows[i]);
    }
}

// The end of the sentence: what could have been saved, as far as that is known. In exact mode the
// calls' costs are inflated by signals, those of the system calls inside them are not.
static void ladder_saving(const struct ms_report_text *out, char *line, size_t size, bool frees,
        uint64_t calls, double cost)
{
    const struct ms_totals *totals = &out->report->replay.totals;
    const struct ms_clock_fit *clock = &out->report->reader->clock;
    struct ms_baseline base = ms_model_baseline(totals, frees);
    char price[MS_CELL], saving[MS_CELL];
    if (out->report->is_exact)
        snprintf(line, size, "; without the system calls inside them, %s would have been saved.",
                ms_text_ns(&out->text, saving,
                        ms_clock_ns(clock, (double)totals->touched_kernel[frees])));
    else if (base.path)
        snprintf(line, size,
                "; had they cost what the %s costs (p50 %s), %s would have been saved.", base.path,
                ms_text_ns(&out->text, price, ms_clock_ns(clock, base.ticks)),
                ms_text_ns(&out->text, saving,
                        ms_clock_ns(clock, fmax(0, cost - base.ticks * (double)calls))));
    else
        snprintf(line, size, ".");
}

// How much the calls that touched the kernel cost, against what user space asks.
static void print_ladder(const struct ms_report_text *out, bool frees)
{
    const struct ms_totals *totals = &out->report->replay.totals;
    const char *what = frees ? "frees" : "allocations";
    char cells[4][MS_CELL], line[512];
    int size = 0;
    struct row_sum all;
    uint64_t calls;
    double cost;
    sum_rows(&all, totals->counters.rows + (frees ? MS_ROW_FREE : 0),
            frees ? MS_FREE_PATHS : MS_ALLOC_PATHS);
    sum_touched(out, frees, &calls, &cost);
    if (!all.row.calls)
        return;
    if (!calls)
        snprintf(line, sizeof line, "None of %s %s was seen to touch the kernel.",
                ms_text_count(cells[0], all.row.calls), what);
    else
        size = snprintf(line, sizeof line,
                "%s of %s %s (%s) touched the kernel and took %s of the time of all %s",
                ms_text_count(cells[0], calls), ms_text_count(cells[1], all.row.calls), what,
                ms_text_share(cells[2], (double)calls, (double)all.row.calls),
                ms_text_share(cells[3], cost, all.total), what);
    if (calls)
        ladder_saving(out, line + size, sizeof line - (size_t)size, frees, calls, cost);
    ms_text_paragraph(&out->text, 2, line);
}

static void print_maps(const struct ms_report_text *out)
{
    static const char *const titles[] = {"call", "calls", "failed", "bytes", "time"};
    struct ms_table table = {.align = "lrrrr"};
    char cell[MS_CELL];
    for (unsigned kind = 0; kind < MS_KIND_LIMIT; kind++) {
        const struct ms_sum *sum = &out->report->replay.totals.maps[kind];
        if (!sum->calls || !ms_kind_name(kind))
            continue;
        for (unsigned i = 0; i < 5 && !table.count; i++)
            for (unsigned j = 0; j < 5; j++)
                ms_table_cell(&table, titles[j]);
        ms_table_cell(&table, ms_kind_name(kind));
        ms_table_cell(&table, ms_text_count(cell, sum->calls));
        ms_table_cell(&table, ms_text_count(cell, sum->failed));
        ms_table_cell(&table, ms_text_size(cell, sum->bytes));
        ms_table_cell(&table, ms_text_ns(&out->text, cell,
                                      ms_clock_ns(&out->report->reader->clock, (double)sum->cost)));
    }
    if (table.count)
        ms_text_heading(&out->text, "The program's own calls for memory");
    ms_table_print(&table, &out->text);
}

static void caller_row(
        const struct ms_report_text *out, struct ms_table *table, const struct ms_site *site)
{
    const struct ms_clock_fit *clock = &out->report->reader->clock;
    char cell[MS_CELL], name[4096 + 32];
    ms_site_name(&out->report->replay.totals.sites, site, name, sizeof name);
    ms_table_cell(table, ms_text_count(cell, site->calls));
    ms_table_cell(table, ms_text_size(cell, site->bytes));
    ms_table_cell(table, ms_text_count(cell, site->kernel_calls));
    ms_table_cell(
            table, ms_text_ns(&out->text, cell, ms_clock_ns(clock, (double)site->kernel_cost)));
    ms_table_cell(table, ms_text_ns(&out->text, cell, ms_clock_ns(clock, (double)site->cost)));
    ms_table_cell(table, name);
}

static void print_callers(const struct ms_report_text *out)
{
    static const char *const titles[] = {
            "allocations", "bytes", "kernel calls", "kernel time", "time", "caller"};
    const struct ms_report *report = out->report;
    struct ms_table table = {.align = "rrrrrl"};
    const struct ms_site *sites = report->replay.totals.sites.list;
    // Sites that took no time come last.
    size_t count = 0;
    while (count < report->caller_count && count < CALLERS_SHOWN &&
            (sites[report->callers[count]].kernel_cost || sites[report->callers[count]].cost))
        count++;
    if (!count)
        return;
    bool has_kernel = sites[report->callers[0]].kernel_cost != 0;
    ms_text_heading(&out->text, has_kernel
                                        ? "Call sites, by the time of calls that touched the kernel"
                                        : "Call sites, by time");
    for (unsigned i = 0; i < 6; i++)
        ms_table_cell(&table, titles[i]);
    for (size_t i = 0; i < count; i++)
        caller_row(out, &table, &sites[report->callers[i]]);
    ms_table_print(&table, &out->text);
}

static void print_live(const struct ms_report_text *out)
{
    const struct ms_figures *all = &out->report->replay.all;
    const struct ms_counters *counters = &out->report->replay.totals.counters;
    char a[MS_CELL], b[MS_CELL], c[MS_CELL], d[MS_CELL];
    ms_text_heading(&out->text, "Live memory");
    printf("  at the end  %s in %s %s\n", ms_text_size(a, all->live_bytes),
            ms_text_count(b, all->live_blocks),
            ms_text_plural(all->live_blocks, "block", "blocks"));
    printf("  peak        %s, and %s %s%s\n", ms_text_size(c, all->peak_bytes),
            ms_text_count(d, all->peak_blocks), ms_text_plural(all->peak_blocks, "block", "blocks"),
            out->report->reader->processes.count > 1 ? " (of the process with the highest)" : "");
    if (all->unmatched_frees)
        printf("  %s %s from before the trace or from a parent process\n",
                ms_text_count(a, all->unmatched_frees),
                ms_text_plural(all->unmatched_frees, "free of a block", "frees of blocks"));
    if (counters->failed_calls)
        printf("  %s %s failed, of %s in all\n", ms_text_count(a, counters->failed_calls),
                ms_text_plural(counters->failed_calls, "allocation", "allocations"),
                ms_text_size(b, counters->failed_bytes));
}

static void print_findings(const struct ms_report_text *out)
{
    const struct ms_findings *findings = &out->report->findings;
    char ns[MS_CELL], title[sizeof findings->list->title + 64];
    ms_text_heading(&out->text, "Findings");
    if (!findings->count)
        puts("  none");
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++) {
        const struct ms_finding *finding = &findings->list[i];
        const char *severity = ms_severity_name(finding->severity);
        ms_text_styled(&out->text, finding->severity ? MS_STYLE_HOT : MS_STYLE_BOLD, "  %s %s",
                severity, finding->id);
        fputs(": ", stdout);
        snprintf(title, sizeof title,
                isfinite(finding->saving_ns) ? "%s (saves about %s)" : "%s (saving unknown)",
                finding->title, ms_text_ns(&out->text, ns, finding->saving_ns));
        unsigned column = (unsigned)(strlen("   : ") + strlen(severity) + strlen(finding->id));
        ms_text_continued(&out->text, 4, column, title);
        ms_text_paragraph(&out->text, 4, finding->evidence);
        ms_text_paragraph(&out->text, 4, finding->advice);
    }
    if (findings->count > FINDINGS_SHOWN)
        printf("  ... and %zu more: see --json\n", findings->count - FINDINGS_SHOWN);
}

void ms_report_print_text(const struct ms_report *report)
{
    struct ms_report_text out = {.report = report};
    const struct ms_row *rows = report->replay.totals.counters.rows;
    ms_text_open(&out.text, stdout);
    print_header(&out);
    ms_report_print_processes(&out);
    ms_report_print_spawns(&out);
    print_rows(&out, "Allocations by path", rows, MS_ALLOC_PATHS, ms_alloc_path_name);
    print_ladder(&out, false);
    print_rows(&out, "Frees by path", rows + MS_ROW_FREE, MS_FREE_PATHS, ms_free_path_name);
    print_ladder(&out, true);
    if (report->is_exact) {
        print_rows(&out, "System calls inside them", report->replay.totals.kernel, MS_CALLS,
                ms_system_call_name);
        ms_text_paragraph(&out.text, 2,
                "Exact mode: every call above that touched the kernel includes the delivery of a "
                "signal; the system calls' own times do not.");
    }
    ms_report_chart_costs(&out, "Cost of allocations", rows, MS_ALLOC_PATHS, ms_alloc_path_name);
    ms_report_chart_costs(
            &out, "Cost of frees", rows + MS_ROW_FREE, MS_FREE_PATHS, ms_free_path_name);
    ms_report_chart_sizes(&out);
    print_maps(&out);
    print_callers(&out);
    print_live(&out);
    print_findings(&out);
}
