// SPDX-License-Identifier: MIT
// memspy forks for people. Sections without content are left out; what is not known is "unknown".
#include "forks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define BAR_WIDTH    16
#define GROUPS_SHOWN 40

static void titles(struct ms_table *table, const char *const *names)
{
    for (; *names; names++)
        ms_table_cell(table, *names);
}

static void count_cell(struct ms_table *table, uint64_t count)
{
    char cell[MS_CELL];
    ms_table_cell(table, ms_text_count(cell, count));
}

// A time, "-" if there is none.
static void ns_cell(const struct ms_text *text, struct ms_table *table, double ns)
{
    char cell[MS_CELL];
    ms_table_cell(table, isfinite(ns) ? ms_text_ns(text, cell, ns) : "-");
}

static void quantile_cells(
        const struct ms_text *text, struct ms_table *table, struct ms_samples *samples)
{
    static const double quantiles[] = {0.5, 0.9, 0.99, 1};
    for (unsigned i = 0; i < 4; i++)
        ns_cell(text, table, ms_samples_quantile(samples, quantiles[i]));
}

static void bar_cell(const struct ms_text *text, struct ms_table *table, size_t part, size_t whole)
{
    char *bar = NULL;
    size_t size = 0;
    struct ms_text plain = {.file = open_memstream(&bar, &size), .has_utf8 = text->has_utf8};
    if (plain.file) {
        ms_text_bar(&plain, (double)part / (double)whole, BAR_WIDTH, MS_STYLE_PLAIN);
        fclose(plain.file);
    }
    ms_table_cell(table, bar ? bar : "");
    free(bar);
}

static void print_calls(const struct ms_text *text, struct ms_forks *forks)
{
    static const char *const names[] = {
            "call", "calls", "failed", "p50", "p90", "p99", "max", "total", NULL};
    struct ms_table table = {.align = "lrrrrrrr"};
    titles(&table, names);
    for (unsigned i = 0; i < MS_FORK_KINDS; i++) {
        struct ms_fork_kind *kind = &forks->kinds[i];
        if (!kind->calls && !kind->failed)
            continue;
        ms_table_cell(&table, ms_spawn_name(i));
        count_cell(&table, kind->calls);
        count_cell(&table, kind->failed);
        quantile_cells(text, &table, &kind->ns);
        ns_cell(text, &table, kind->ns.count ? kind->ns.sum : NAN);
    }
    ms_text_heading(text, "Calls that make processes");
    ms_table_print(&table, text);
}

static void print_calls_note(const struct ms_text *text, struct ms_forks *forks)
{
    char line[512], cells[3][MS_CELL];
    double failed = 0;
    for (unsigned i = 0; i < MS_FORK_KINDS; i++)
        failed += forks->kinds[i].failed_ns;
    ms_text_paragraph(text, 2,
            "Time in the process that makes the call, around the call alone; atfork handlers run "
            "inside it and count. vfork and posix_spawn hold the caller until the child has begun "
            "its program, system until the command has ended.");
    if (failed > 0) {
        snprintf(line, sizeof line, "Calls that failed took %s.",
                ms_text_ns(text, cells[0], failed));
        ms_text_paragraph(text, 2, line);
    }
    if (!forks->reading.count)
        return;
    snprintf(line, sizeof line,
            "Reading the sizes from /proc beside each call took %s (p50), %s in all: memspy's own, "
            "not in the costs.",
            ms_text_ns(text, cells[1], ms_samples_quantile(&forks->reading, 0.5)),
            ms_text_ns(text, cells[2], forks->reading.sum));
    ms_text_paragraph(text, 2, line);
}

static void print_buckets(const struct ms_text *text, const struct ms_forks *forks, bool by_pte)
{
    static const char *const names[2][9] = {
            {"RSS from", "calls", "p50", "p90", "p99", "max", "per MiB", "", NULL},
            {"VmPTE from", "calls", "p50", "p90", "p99", "max", "per KiB", "", NULL}};
    struct ms_fork_bucket buckets[MS_FORK_BUCKETS];
    struct ms_table table = {.align = "rrrrrrrl"};
    size_t count = ms_forks_buckets(forks, by_pte, buckets), most = 1;
    char cell[MS_CELL];
    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        most = buckets[i].ns.count > most ? buckets[i].ns.count : most;
    titles(&table, names[by_pte]);
    for (size_t i = 0; i < count; i++) {
        double bytes = fmin(buckets[i].from_kb * 1024, 0x1p63);
        ms_table_cell(&table, ms_text_size(cell, (uint64_t)bytes));
        count_cell(&table, buckets[i].ns.count);
        quantile_cells(text, &table, &buckets[i].ns);
        ns_cell(text, &table,
                ms_samples_quantile(&buckets[i].ns_per_kb, 0.5) * (by_pte ? 1 : 1024));
        bar_cell(text, &table, buckets[i].ns.count, most);
    }
    ms_forks_free_buckets(buckets, count);
    ms_text_heading(text, by_pte ? "fork, _Fork and clone by page tables"
                                 : "fork, _Fork and clone by resident memory");
    // p90 goes first, then p99, which has moved into its place, then the bars.
    ms_table_narrow(&table, text, 3);
    ms_table_narrow(&table, text, 3);
    ms_table_narrow(&table, text, strlen(table.align) - 1);
    ms_table_print(&table, text);
}

static void print_model(const struct ms_text *text, const struct ms_forks *forks)
{
    char line[MS_FORK_SENTENCE];
    if (!forks->point_count)
        return;
    ms_text_heading(text, "What the cost of fork depends on");
    ms_text_paragraph(text, 2, ms_fork_model_cause(&forks->model, text, line));
    if (ms_fork_model_untouched(&forks->model, text, line))
        ms_text_paragraph(text, 2, line);
}

static void print_ways(const struct ms_text *text, struct ms_forks *forks)
{
    static const char *const names[] = {
            "way", "children", "parent p50", "p99", "to main p50", "p99", NULL};
    struct ms_table table = {.align = "lrrrrr"};
    uint64_t children = 0;
    for (unsigned i = 0; i < MS_WAYS; i++)
        children += forks->ways[i].children;
    if (!children)
        return;
    titles(&table, names);
    for (unsigned i = 0; i < MS_WAYS; i++) {
        struct ms_fork_way *way = &forks->ways[i];
        if (!way->children)
            continue;
        ms_table_cell(&table, ms_way_name((enum ms_way)i));
        count_cell(&table, way->children);
        ns_cell(text, &table, ms_samples_quantile(&way->held, 0.5));
        ns_cell(text, &table, ms_samples_quantile(&way->held, 0.99));
        ns_cell(text, &table, ms_samples_quantile(&way->to_main, 0.5));
        ns_cell(text, &table, ms_samples_quantile(&way->to_main, 0.99));
    }
    ms_text_heading(text, "Children that ran a program: the parent's part, and until its main");
    ms_table_print(&table, text);
}

static void exec_histogram(const struct ms_text *text, const struct ms_fork_execs *execs)
{
    static const char *const names[] = {"from", "to load", "to main", "", NULL};
    struct ms_table table = {.align = "rrrl"};
    size_t init[MS_FORK_OCTAVES], main[MS_FORK_OCTAVES], most = 1;
    ms_forks_octaves(&execs->to_init, init);
    ms_forks_octaves(&execs->to_main, main);
    for (unsigned i = 0; i < MS_FORK_OCTAVES; i++)
        most = main[i] > most ? main[i] : most;
    titles(&table, names);
    for (unsigned i = 0; i < MS_FORK_OCTAVES; i++) {
        if (!init[i] && !main[i])
            continue;
        ns_cell(text, &table, ldexp(1, (int)i));
        count_cell(&table, init[i]);
        count_cell(&table, main[i]);
        bar_cell(text, &table, main[i], most);
    }
    ms_table_print(&table, text);
}

static void print_errors(const struct ms_text *text, const struct ms_fork_execs *execs)
{
    char line[1024], cells[3][MS_CELL]; // an error takes less than 100 bytes
    uint64_t told = 0;
    if (!execs->failed)
        return;
    size_t size = (size_t)snprintf(line, sizeof line,
            "%s %s failed and took %s: ", ms_text_count(cells[0], execs->failed),
            ms_text_plural(execs->failed, "attempt", "attempts"),
            ms_text_ns(text, cells[1], execs->failed_ns));
    for (unsigned i = 0; i < MS_FORK_ERRORS && execs->errors[i].calls; i++) {
        const struct ms_fork_error *error = &execs->errors[i];
        char name[64];
        snprintf(name, sizeof name, "errno %" PRIu64, error->number);
        told += error->calls;
        size += (size_t)snprintf(line + size, sizeof line - size, "%s%s %s", i ? ", " : "",
                ms_text_count(cells[2], error->calls),
                error->number < 134 ? strerror((int)error->number) : name);
    }
    snprintf(line + size, sizeof line - size, "%s.", told < execs->failed ? ", and others" : "");
    ms_text_paragraph(text, 2, line);
}

static void print_execs(const struct ms_text *text, struct ms_forks *forks)
{
    static const char *const names[] = {"exec until", "execs", "p50", "p90", "p99", "max", NULL};
    struct ms_fork_execs *execs = &forks->execs;
    struct ms_table table = {.align = "lrrrrr"};
    char line[256], cells[2][MS_CELL];
    if (!execs->happened && !execs->failed && !execs->unsure)
        return;
    ms_text_heading(text, "exec, from the call until the new program");
    titles(&table, names);
    ms_table_cell(&table, "it is loaded");
    count_cell(&table, execs->to_init.count);
    quantile_cells(text, &table, &execs->to_init);
    ms_table_cell(&table, "its main begins");
    count_cell(&table, execs->to_main.count);
    quantile_cells(text, &table, &execs->to_main);
    ms_table_print(&table, text);
    if (execs->to_init.count + execs->to_main.count)
        exec_histogram(text, execs);
    snprintf(line, sizeof line, "%s %s happened, %s of an unknown outcome.",
            ms_text_count(cells[0], execs->happened),
            ms_text_plural(execs->happened, "exec", "execs"),
            ms_text_count(cells[1], execs->unsure));
    ms_text_paragraph(text, 2, line);
    print_errors(text, execs);
}

static void print_children(const struct ms_text *text, struct ms_forks *forks)
{
    static const char *const names[] = {"", "children", "p50", "p90", "p99", "max", NULL};
    struct ms_table table = {.align = "lrrrrr"};
    char line[256], cells[3][MS_CELL];
    if (!forks->gap.count && !forks->latency.count)
        return;
    ms_text_heading(text, "Children of fork and vfork");
    titles(&table, names);
    ms_table_cell(&table, "from the call to their first step");
    count_cell(&table, forks->latency.count);
    quantile_cells(text, &table, &forks->latency);
    ms_table_cell(&table, "gap between it and exec");
    count_cell(&table, forks->gap.count);
    quantile_cells(text, &table, &forks->gap);
    ms_table_print(&table, text);
    if (!forks->gap.count)
        return;
    snprintf(line, sizeof line,
            "In the gaps: %s calls of dup2 and dup3, %s of close and closefrom, %s that open.",
            ms_text_count(cells[0], forks->gap_dups), ms_text_count(cells[1], forks->gap_closes),
            ms_text_count(cells[2], forks->gap_opens));
    ms_text_paragraph(text, 2, line);
}

static void group_row(const struct ms_text *text, struct ms_table *table, enum ms_fork_by by,
        struct ms_fork_group *group)
{
    struct ms_forks *forks = &group->forks;
    struct ms_samples fork = {0};
    char cell[MS_CELL];
    uint64_t calls = 0;
    for (unsigned i = 0; i < MS_FORK_KINDS; i++)
        calls += forks->kinds[i].calls + forks->kinds[i].failed;
    for (size_t i = 0; i < forks->point_count; i++)
        ms_samples_add(&fork, forks->points[i].ns);
    ms_table_cell(table, ms_text_ns(text, cell, ms_forks_total(forks)));
    count_cell(table, calls);
    count_cell(table, fork.count);
    ns_cell(text, table, ms_samples_quantile(&fork, 0.5));
    ns_cell(text, table, ms_samples_quantile(&fork, 1));
    count_cell(table, forks->execs.happened);
    ns_cell(text, table, ms_samples_quantile(&forks->execs.to_main, 0.5));
    count_cell(table, forks->execs.failed);
    if (by == MS_FORK_BY_PROCESS) {
        snprintf(cell, sizeof cell, "%" PRIu64, group->pid);
        ms_table_cell(table, group->pid ? cell : "unknown");
    }
    ms_table_cell(table, *group->name ? group->name : "unknown");
    ms_samples_free(&fork);
}

static void print_groups(
        const struct ms_text *text, struct ms_fork_groups *groups, enum ms_fork_by by)
{
    static const char *const names[] = {
            "time", "calls", "forks", "p50", "max", "execs", "to main p50", "failed", NULL};
    static const char *const headings[] = {"", "By process", "By program", "By command line"};
    struct ms_table table = {.align = "rrrrrrrrl"};
    if (by == MS_FORK_BY_NONE || !groups->count)
        return;
    ms_text_heading(text, headings[by]);
    titles(&table, names);
    if (by == MS_FORK_BY_PROCESS) {
        memcpy(table.align, "rrrrrrrrrl", sizeof "rrrrrrrrrl");
        ms_table_cell(&table, "pid");
    }
    ms_table_cell(&table, by == MS_FORK_BY_ARGV ? "command line" : "program");
    size_t shown = groups->count <= GROUPS_SHOWN ? groups->count : GROUPS_SHOWN - 1;
    for (size_t i = 0; i < shown; i++)
        group_row(text, &table, by, &groups->list[i]);
    ms_table_print(&table, text);
    if (shown < groups->count)
        printf("  ... and %zu more: see --json\n", groups->count - shown);
}

void ms_forks_print_text(struct ms_fork_groups *groups, enum ms_fork_by by, const char *path)
{
    struct ms_text text;
    struct ms_forks *all = &groups->all;
    ms_text_open(&text, stdout);
    ms_text_styled(&text, MS_STYLE_BOLD, "memspy forks of ");
    ms_text_untrusted(&text, path, 1000);
    putchar('\n');
    if (!ms_forks_any(all)) {
        ms_text_paragraph(&text, 2, "No call that makes or replaces a process was recorded.");
        return;
    }
    print_calls(&text, all);
    print_calls_note(&text, all);
    print_buckets(&text, all, false);
    print_buckets(&text, all, true);
    print_model(&text, all);
    print_ways(&text, all);
    print_execs(&text, all);
    print_children(&text, all);
    print_groups(&text, groups, by);
}
