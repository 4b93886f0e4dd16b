// SPDX-License-Identifier: MIT
// The part of memspy report about processes, in short: who ran, and what making them cost. The long
// forms are memspy tree and memspy forks. Of many processes like ones become one line.
#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "report_text.h"

// Lines that are listed.
#define ROWS_SHOWN 12

// One image, or one that is not traced; or several that are alike.
struct row {
    uint64_t pid;
    const char *program;
    const char *origin;
    const char *why_not; // NULL: traced
    struct ms_ending ending;
    size_t first; // where it stands in the order of time
    uint64_t count;
    uint64_t events;
    uint64_t peak;
};

struct rows {
    struct row *list;
    size_t count;
    size_t capacity;
};

static void row_add(struct rows *rows, const struct row *row)
{
    rows->list = ms_memory_grow(rows->list, rows->count + 1, &rows->capacity, sizeof *rows->list);
    rows->list[rows->count] = *row;
    rows->list[rows->count].first = rows->count;
    rows->count++;
}

static void add_images(
        struct rows *rows, const struct ms_report *report, const struct ms_node *node)
{
    const struct ms_family *family = &report->reader->family;
    for (const struct ms_process *image = node->first; image;
            image = ms_node_image_after(family, image)) {
        const struct ms_figures *figures = ms_report_figures(report, image);
        row_add(rows,
                &(struct row){.pid = image->number[MS_PROCESS_PID],
                        .program = image->text[MS_PROCESS_EXE],
                        .origin = ms_node_origin(node, image),
                        .why_not = ms_report_is_unseen(report, image) ? "it has a malloc of its own"
                                                                      : NULL,
                        .ending = image->ending,
                        .count = 1,
                        .events = figures->events,
                        .peak = figures->peak_bytes});
    }
}

static void rows_collect(struct rows *rows, const struct ms_report *report)
{
    const struct ms_family *family = &report->reader->family;
    for (size_t i = 0; i < family->count; i++) {
        const struct ms_node *node = &family->nodes[i];
        add_images(rows, report, node);
        if (node->why_not)
            row_add(rows, &(struct row){.pid = node->pid,
                                  .program = ms_node_program(node),
                                  .origin = node->last ? "exec" : ms_node_origin(node, NULL),
                                  .why_not = node->why_not,
                                  .ending = node->ending,
                                  .count = 1});
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

// By what makes rows alike.
static int by_kind(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare_texts(x->program, y->program);
    if (!order)
        order = compare_texts(x->origin, y->origin);
    if (!order)
        order = compare_texts(x->why_not, y->why_not);
    if (!order)
        order = compare(x->ending.fate, y->ending.fate);
    if (!order)
        order = compare(ms_ending_tells_status(&x->ending), ms_ending_tells_status(&y->ending));
    if (!order && ms_ending_tells_status(&x->ending))
        order = compare(x->ending.status, y->ending.status);
    return order;
}

static int by_count(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare(y->count, x->count);
    return order ? order : compare(x->first, y->first);
}

// Makes one row of those that are alike, the most frequent first.
static void rows_collapse(struct rows *rows)
{
    size_t kept = 0;
    qsort(rows->list, rows->count, sizeof *rows->list, by_kind);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->list[i], *same = kept ? &rows->list[kept - 1] : NULL;
        if (!same || by_kind(same, row) != 0) {
            rows->list[kept++] = *row;
            continue;
        }
        same->count += row->count;
        if (row->first < same->first)
            same->first = row->first;
        same->events += row->events;
        if (row->peak > same->peak)
            same->peak = row->peak;
    }
    rows->count = kept;
    qsort(rows->list, kept, sizeof *rows->list, by_count);
}

static void end_cell(struct ms_table *table, const struct ms_ending *ending)
{
    char cell[MS_CELL];
    const char *end = ms_fate_name(ending->fate);
    bool tells = ms_ending_tells_status(ending) && ending->fate != MS_FATE_KILLED;
    snprintf(cell, sizeof cell, "%s", end);
    if (tells)
        snprintf(cell, sizeof cell, "%s %" PRIu64, end, ending->status);
    ms_table_cell(table, cell);
}

static void program_cell(struct ms_table *table, const struct row *row)
{
    const char *program = row->program && *row->program ? row->program : "unknown";
    char cell[4096 + 128];
    snprintf(cell, sizeof cell, "%s", program);
    if (row->why_not)
        snprintf(cell, sizeof cell, "%.*s (not traced: %s)", 4096, program, row->why_not);
    ms_table_cell(table, cell);
}

// The first cell is a pid or, of collapsed rows, how many there are.
static void put_row(struct ms_table *table, const struct row *row, bool is_collapsed)
{
    bool is_blank = row->why_not && row->events == 0;
    char cell[MS_CELL];
    if (is_collapsed)
        ms_text_count(cell, row->count);
    else if (row->pid)
        snprintf(cell, sizeof cell, "%" PRIu64, row->pid);
    else
        snprintf(cell, sizeof cell, "unknown");
    ms_table_cell(table, cell);
    ms_table_cell(table, row->origin);
    end_cell(table, &row->ending);
    ms_table_cell(table, is_blank ? "-" : ms_text_count(cell, row->events));
    ms_table_cell(table, is_blank ? "-" : ms_text_size(cell, row->peak));
    program_cell(table, row);
}

static void put_titles(struct ms_table *table, const char *const *titles, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ms_table_cell(table, titles[i]);
}

void ms_report_print_processes(const struct ms_report_text *out)
{
    static const char *const titles[] = {"began", "ended", "events", "peak", "program"};
    struct ms_table table = {.align = "rllrrl"};
    struct rows rows = {0};
    char cell[MS_CELL];
    rows_collect(&rows, out->report);
    bool is_collapsed = rows.count > ROWS_SHOWN;
    if (rows.count < 2) {
        free(rows.list);
        return;
    }
    ms_text_heading(&out->text, "Processes");
    if (is_collapsed) {
        printf("  %s programs ran, those alike in one line; memspy tree has them one by one\n",
                ms_text_count(cell, rows.count));
        rows_collapse(&rows);
    }
    ms_table_cell(&table, is_collapsed ? "n" : "pid");
    put_titles(&table, titles, 5);
    for (size_t i = 0; i < rows.count && i < ROWS_SHOWN; i++)
        put_row(&table, &rows.list[i], is_collapsed);
    ms_table_print(&table, &out->text);
    if (rows.count > ROWS_SHOWN)
        printf("  ... and %zu more kinds\n", rows.count - ROWS_SHOWN);
    free(rows.list);
}

static void ns_cell(const struct ms_report_text *out, struct ms_table *table, double ns)
{
    char cell[MS_CELL];
    ms_table_cell(table, ms_text_ns(&out->text, cell, ns));
}

static void sample_cells(
        const struct ms_report_text *out, struct ms_table *table, struct ms_samples *samples)
{
    static const double quantiles[] = {0.5, 0.99, 1};
    for (unsigned i = 0; i < 3; i++) {
        if (samples->count)
            ns_cell(out, table, ms_samples_quantile(samples, quantiles[i]));
        else
            ms_table_cell(table, "unknown");
    }
}

// The calls that make processes, and what they took in the caller.
static void print_kinds(const struct ms_report_text *out, struct ms_forks *forks)
{
    static const char *const titles[] = {"call", "calls", "failed", "p50", "p99", "max"};
    struct ms_table table = {.align = "lrrrrr"};
    char cell[MS_CELL];
    put_titles(&table, titles, 6);
    for (unsigned kind = 0; kind < MS_FORK_KINDS; kind++) {
        struct ms_fork_kind *figures = &forks->kinds[kind];
        if (!figures->calls && !figures->failed)
            continue;
        ms_table_cell(&table, ms_spawn_name(kind));
        ms_table_cell(&table, ms_text_count(cell, figures->calls));
        ms_table_cell(&table, ms_text_count(cell, figures->failed));
        sample_cells(out, &table, &figures->ns);
    }
    ms_table_print(&table, &out->text);
}

// From the call to the main of the program that the child ran.
static void print_ways(const struct ms_report_text *out, struct ms_forks *forks)
{
    static const char *const titles[] = {"to the program's main", "n", "p50", "p99", "max"};
    struct ms_table table = {.align = "lrrrr"};
    char cell[MS_CELL];
    put_titles(&table, titles, 5);
    for (unsigned way = 0; way < MS_WAYS; way++) {
        struct ms_samples *samples = &forks->ways[way].to_main;
        if (!samples->count)
            continue;
        ms_table_cell(&table, ms_way_name(way));
        ms_table_cell(&table, ms_text_count(cell, samples->count));
        sample_cells(out, &table, samples);
    }
    if (table.count > 5)
        putchar('\n');
    ms_table_print(&table, &out->text);
}

static void print_execs(const struct ms_report_text *out, const struct ms_fork_execs *execs)
{
    char cells[3][MS_CELL], line[256];
    if (!execs->happened && !execs->failed)
        return;
    snprintf(line, sizeof line, "%s %s", ms_text_count(cells[0], execs->happened),
            ms_text_plural(execs->happened, "exec", "execs"));
    size_t size = strlen(line);
    if (execs->failed)
        snprintf(line + size, sizeof line - size, ", and %s failed %s that took %s",
                ms_text_count(cells[1], execs->failed),
                ms_text_plural(execs->failed, "attempt", "attempts"),
                ms_text_ns(&out->text, cells[2], execs->failed_ns));
    ms_text_paragraph(&out->text, 2, line);
}

// What the cost of fork depends on, as far as that is known.
static void print_model(const struct ms_report_text *out, const struct ms_fork_model *model)
{
    char line[MS_FORK_SENTENCE];
    if (model->cause != MS_FORK_CAUSE_UNKNOWN)
        ms_text_paragraph(&out->text, 2, ms_fork_model_cause(model, &out->text, line));
    if (ms_fork_model_untouched(model, &out->text, line))
        ms_text_paragraph(&out->text, 2, line);
}

void ms_report_print_spawns(const struct ms_report_text *out)
{
    struct ms_forks *forks = &out->report->forks->all;
    if (!ms_forks_any(forks))
        return;
    ms_text_heading(&out->text, "Spawns");
    print_kinds(out, forks);
    print_model(out, &forks->model);
    print_ways(out, forks);
    print_execs(out, &forks->execs);
}
