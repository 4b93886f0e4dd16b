// SPDX-License-Identifier: MIT
// memspy tree for people: a table whose last column is the tree. A row of many processes takes
// three lines: their median, their 99th percentile, their sum.
//
//     started  lived  ended   call  process
//                                   make
//                                   ├─ fork: cc -c a.c
//                                   │  └─ vfork: cc1 a.c
//                                   └─ fork: 2 000 x /bin/true
#include "tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "samples.h"
#include "text.h"

// Levels that are drawn; what is below is said to be so deep.
#define LEVELS 12
// Below these widths columns give way to the tree: the time of allocations and the peak, then the
// start and the time to main.
#define WIDTH_FULL 100
#define WIDTH_FAIR 76
// A program of many processes in one row is told by its path if that is no longer than this.
#define PROGRAM_MAX 16
// The longest label that is put together; it is cut to the width anyway.
#define LABEL 1024

struct view {
    const struct ms_replay *replay;
    struct ms_text text;
    struct ms_table table;
    bool is_full;
    bool is_fair;
    bool has_more[LEVELS + 1]; // by level: rows of the same parent follow
};

static const char *signal_name(uint64_t number)
{
    // As Linux numbers them on all machines that the recorder runs on.
    static const char *const names[] = {"0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS",
            "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT",
            "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
            "PWR", "SYS"};
    return number < sizeof names / sizeof names[0] ? names[number] : NULL;
}

static void end_cell(struct view *view, const struct ms_ending *ending)
{
    char cell[MS_CELL];
    const char *name = signal_name(ending->status);
    if (ending->fate == MS_FATE_SIGNAL && ending->has_status && name)
        snprintf(cell, sizeof cell, "SIG%s", name);
    else if (ending->has_status && ending->fate != MS_FATE_KILLED)
        snprintf(cell, sizeof cell, "%s %" PRIu64, ms_fate_name(ending->fate), ending->status);
    else
        snprintf(cell, sizeof cell, "%s", ms_fate_name(ending->fate));
    ms_table_cell(&view->table, cell);
}

static void ns_cell(struct view *view, double ns)
{
    char cell[MS_CELL];
    ms_table_cell(&view->table, isfinite(ns) ? ms_text_ns(&view->text, cell, ns) : "-");
}

static void size_cell(struct view *view, bool is_known, uint64_t bytes)
{
    char cell[MS_CELL];
    ms_table_cell(&view->table, is_known ? ms_text_size(cell, bytes) : "-");
}

// Text that is put together piece by piece, and cut where it is full.
struct label {
    char text[LABEL];
    size_t size;
};

static void __attribute__((format(printf, 2, 3))) add(struct label *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(label->text + label->size, LABEL - label->size, format, arguments);
    va_end(arguments);
    label->size += size > 0 ? (size_t)size : 0;
    if (label->size >= LABEL)
        label->size = LABEL - 1;
}

// The lines from above, and the branch to the row itself or, under it, what goes on beside it.
static void add_branch(struct label *label, const struct view *view, size_t depth, bool is_under)
{
    static const char *const pieces[2][4] = {
            {"|  ", "   ", "|- ", "`- "}, {"│  ", "   ", "├─ ", "└─ "}};
    const char *const *piece = pieces[view->text.has_utf8];
    size_t levels = depth < LEVELS ? depth : LEVELS;
    for (size_t level = 1; level < levels; level++)
        add(label, "%s", view->has_more[level] ? piece[0] : piece[1]);
    if (levels)
        add(label, "%s", piece[(is_under ? 0 : 2) + !view->has_more[levels]]);
    if (depth > LEVELS && !is_under)
        add(label, "(level %zu) ", depth);
}

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

// The command line of an image, without the directory of its program; or its program.
static void add_command(struct label *label, const struct ms_process *image)
{
    const char *argument = ms_process_argument(image, NULL);
    const char *exe = image->text[MS_PROCESS_EXE];
    if (!argument)
        add(label, "%s", or_unknown(exe));
    for (bool is_first = true; argument && label->size + 1 < LABEL; is_first = false) {
        add(label, "%s%s", is_first ? "" : " ", is_first ? base_name(argument) : argument);
        argument = ms_process_argument(image, argument);
    }
}

// The programs that it ran one after the other; of many processes the last one by its path.
static void add_programs(
        struct label *label, const struct view *view, const struct ms_node *node, bool is_many)
{
    const struct ms_family *family = &view->replay->reader->family;
    const struct ms_process *image = ms_tree_first(family, node), *next;
    const char *program = ms_node_program(node);
    for (; image && label->size + 1 < LABEL; image = next) {
        next = ms_node_image_after(family, image);
        const char *exe = image->text[MS_PROCESS_EXE];
        if (next || node->unseen)
            add(label, "%s -> ", or_unknown(base_name(exe)));
        else if (is_many)
            add(label, "%s", exe && strlen(exe) > PROGRAM_MAX ? base_name(exe) : or_unknown(exe));
        else
            add_command(label, image);
    }
    if (node->unseen || !node->first)
        add(label, "%s", or_unknown(program));
}

static void add_notes(struct label *label, const struct ms_node *node)
{
    if (node->why_not)
        add(label, " (not traced: %s)", node->why_not);
    if (node->is_through)
        add(label, " (through a program that is not traced)");
    if (node->failed_execs)
        add(label, " (%zu %s failed)", node->failed_execs,
                ms_text_plural(node->failed_execs, "exec", "execs"));
}

static void label_cell(struct view *view, const struct ms_tree_row *row)
{
    const struct ms_node *node = row->nodes[0];
    const char *made_by = ms_node_made_by(node, node->first);
    struct label label = {.size = 0};
    char count[MS_CELL];
    add_branch(&label, view, row->depth, false);
    if (row->depth && made_by)
        add(&label, "%s: ", made_by);
    if (row->count > 1)
        add(&label, "%s x ", ms_text_count(count, row->count));
    else if (node->pid)
        add(&label, "%" PRIu64 " ", node->pid);
    add_programs(&label, view, node, row->count > 1);
    if (row->count == 1 || node->why_not)
        add_notes(&label, node);
    ms_table_cell(&view->table, label.text);
}

static void start_cell(struct view *view, const struct ms_node *node)
{
    const struct ms_clock_fit *clock = &view->replay->reader->clock;
    if (view->is_fair)
        ns_cell(view, node->start ? fmax(0, ms_clock_at(clock, node->start)) : NAN);
}

static void to_main_cell(struct view *view, double ns)
{
    if (view->is_fair)
        ns_cell(view, ns);
}

static void single_row(struct view *view, const struct ms_tree_row *row)
{
    const struct ms_node *node = row->nodes[0];
    const struct ms_reader *reader = view->replay->reader;
    struct ms_tree_memory memory = ms_tree_memory(view->replay, node);
    start_cell(view, node);
    ns_cell(view, ms_tree_lived(reader, node));
    end_cell(view, &node->ending);
    ns_cell(view, ms_tree_cost(reader, node));
    to_main_cell(
            view, node->has_to_main ? ms_clock_ns(&reader->clock, (double)node->to_main) : NAN);
    if (view->is_full) {
        ns_cell(view, memory.is_known ? memory.alloc_ns : NAN);
        size_cell(view, memory.is_known, memory.peak_bytes);
    }
    label_cell(view, row);
}

// Figures of the processes of a row.
struct sums {
    struct ms_samples lived, cost, to_main, alloc, peak;
};

static void add_known(struct ms_samples *samples, double number)
{
    if (isfinite(number))
        ms_samples_add(samples, number);
}

static void sum_up(struct sums *sums, const struct view *view, const struct ms_tree_row *row)
{
    const struct ms_reader *reader = view->replay->reader;
    for (size_t i = 0; i < row->count; i++) {
        const struct ms_node *node = row->nodes[i];
        struct ms_tree_memory memory = ms_tree_memory(view->replay, node);
        add_known(&sums->lived, ms_tree_lived(reader, node));
        add_known(&sums->cost, ms_tree_cost(reader, node));
        if (node->has_to_main)
            ms_samples_add(&sums->to_main, ms_clock_ns(&reader->clock, (double)node->to_main));
        if (!memory.is_known)
            continue;
        ms_samples_add(&sums->alloc, memory.alloc_ns);
        ms_samples_add(&sums->peak, (double)memory.peak_bytes);
    }
}

static void free_sums(struct sums *sums)
{
    ms_samples_free(&sums->lived);
    ms_samples_free(&sums->cost);
    ms_samples_free(&sums->to_main);
    ms_samples_free(&sums->alloc);
    ms_samples_free(&sums->peak);
}

enum line { LINE_P50, LINE_P99, LINE_SUM };

static double figure(struct ms_samples *samples, enum line line)
{
    if (line == LINE_SUM)
        return samples->count ? samples->sum : NAN;
    return ms_samples_quantile(samples, line == LINE_P50 ? 0.5 : 0.99);
}

static void under_cell(struct view *view, const struct ms_tree_row *row, enum line line)
{
    struct label label = {.size = 0};
    add_branch(&label, view, row->depth, true);
    add(&label, "%s", line == LINE_P99 ? "  p99" : "  sum");
    ms_table_cell(&view->table, label.text);
}

static void many_row(struct view *view, const struct ms_tree_row *row)
{
    struct sums sums = {0};
    sum_up(&sums, view, row);
    for (enum line line = LINE_P50; line <= LINE_SUM; line++) {
        if (line == LINE_P50)
            start_cell(view, row->nodes[0]);
        else if (view->is_fair)
            ms_table_cell(&view->table, "");
        ns_cell(view, figure(&sums.lived, line));
        if (line == LINE_P50)
            end_cell(view, &row->nodes[0]->ending);
        else
            ms_table_cell(&view->table, "");
        ns_cell(view, figure(&sums.cost, line));
        to_main_cell(view, figure(&sums.to_main, line));
        if (view->is_full) {
            double peak = figure(&sums.peak, line);
            ns_cell(view, figure(&sums.alloc, line));
            size_cell(view, isfinite(peak), isfinite(peak) ? (uint64_t)fmin(peak, 0x1p63) : 0);
        }
        if (line == LINE_P50)
            label_cell(view, row);
        else
            under_cell(view, row, line);
    }
    free_sums(&sums);
}

static void print_summary(const struct view *view)
{
    const struct ms_family *family = &view->replay->reader->family;
    size_t untraced = 0, images = 0;
    char cells[3][MS_CELL], line[256], rest[96] = "";
    for (size_t i = 0; i < family->count; i++) {
        untraced += family->nodes[i].why_not != NULL;
        images += family->nodes[i].images;
    }
    if (untraced)
        snprintf(rest, sizeof rest, "; %s not traced, or not to the end",
                ms_text_count(cells[2], untraced));
    snprintf(line, sizeof line, "%s %s, %s program %s%s", ms_text_count(cells[0], family->count),
            ms_text_plural(family->count, "process", "processes"), ms_text_count(cells[1], images),
            ms_text_plural(images, "image", "images"), rest);
    ms_text_paragraph(&view->text, 2, line);
}

static void print_note(const struct view *view)
{
    char line[512];
    snprintf(line, sizeof line,
            "call: what the call that made it took in its parent.%s%s Of many processes in one row "
            "the figures are the median, the 99th percentile and the sum.",
            view->is_fair ? " to main: from that call to the main of the first program that it ran."
                          : "",
            view->is_full ? " alloc: the time of its allocations and frees." : "");
    putchar('\n');
    ms_text_paragraph(&view->text, 2, line);
}

// The titles, and with them the columns.
static void begin_table(struct view *view)
{
    static const char *const full[] = {
            "started", "lived", "ended", "call", "to main", "alloc", "peak", "process", NULL};
    static const char *const fair[] = {
            "started", "lived", "ended", "call", "to main", "process", NULL};
    static const char *const least[] = {"lived", "ended", "call", "process", NULL};
    const char *const *title = view->is_full ? full : view->is_fair ? fair : least;
    strcpy(view->table.align, view->is_full ? "rrlrrrre" : view->is_fair ? "rrlrre" : "rlre");
    for (; *title; title++)
        ms_table_cell(&view->table, *title);
}

void ms_tree_print_text(const struct ms_replay *replay, const char *path)
{
    static struct view view;
    struct ms_tree tree;
    view = (struct view){.replay = replay};
    ms_text_open(&view.text, stdout);
    view.is_full = view.text.width >= WIDTH_FULL;
    view.is_fair = view.text.width >= WIDTH_FAIR;
    ms_text_styled(&view.text, MS_STYLE_BOLD, "memspy tree of ");
    ms_text_untrusted(&view.text, path, 1000);
    putchar('\n');
    print_summary(&view);
    putchar('\n');
    begin_table(&view);
    ms_tree_build(&tree, &replay->reader->family);
    for (size_t i = 0; i < tree.count; i++) {
        const struct ms_tree_row *row = &tree.rows[i];
        if (row->depth <= LEVELS)
            view.has_more[row->depth] = !row->is_last;
        (row->count > 1 ? many_row : single_row)(&view, row);
    }
    ms_table_print(&view.table, &view.text);
    print_note(&view);
    ms_tree_free(&tree);
}
