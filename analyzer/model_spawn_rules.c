// SPDX-License-Identifier: MIT
// The rules about making processes, one function each. As in model.c, thresholds are counts that a
// program which does such a thing now and then stays below. A saving is the sum of measured times
// less what the advice would cost by other measured times; where nothing measured tells that, there
// is none.
#include <math.h>
#include <stdio.h>

#include "model_spawn.h"
#include "text.h"

// Times that a thing must happen at one place, unless it takes a hundredth of the run time.
#define REPEATS_MIN 4
#define SHARE_MIN   0.01
// Children of nine forks in ten run a program: the place forks only for that.
#define ONLY_MIN 0.9
// Calls that make a median worth comparing with.
#define MEDIAN_MIN 3
// A fork that costs less than twice the cheaper way is not worth a word.
#define DEARER 2
// Children within a second, and failed attempts to find programs, that are many.
#define STORM_MIN    100
#define ATTEMPTS_MIN 16
// Children that did nothing.
#define IDLE_MIN 16
// Calls of close in a gap that tell of a loop over all descriptors.
#define CLOSES_MIN 64

// The same texts go into JSON and to terminals, which print what they can.
static const char *ns(char *cell, double value)
{
    static const struct ms_text text = {.has_utf8 = true};
    return ms_text_ns(&text, cell, value);
}

static struct ms_finding *add(
        const struct ms_spawn_model *model, const char *id, const char *advice, double saving_ns)
{
    double saving = isfinite(saving_ns) ? fmax(0, saving_ns) : NAN;
    return ms_model_add(model->findings, id, advice, saving, model->lifetime_ns);
}

static void set_title(const struct ms_spawn_model *model, struct ms_finding *finding,
        const char *what, size_t place)
{
    char name[160] = "a place that is not known";
    if (place)
        ms_site_name(&model->sites, &model->sites.list[place], name, sizeof name);
    snprintf(finding->title, sizeof finding->title, "%s at %s", what, name);
}

// Whether it happened often enough, or took long enough, to be worth a word.
static bool is_worth(const struct ms_spawn_model *model, size_t count, double total_ns)
{
    return count >= REPEATS_MIN || (count && total_ns >= SHARE_MIN * model->lifetime_ns);
}

// What a process is made for without copying page tables: measured here, or else modelled.
struct cheap {
    double ns; // not a number if it is not known
    char how[160];
};

static struct cheap cheap_of(const struct ms_spawn_model *model)
{
    struct ms_forks *forks = model->forks;
    struct cheap cheap = {.ns = NAN};
    static const enum ms_way ways[] = {MS_WAY_POSIX_SPAWN, MS_WAY_VFORK_EXEC};
    char cells[2][MS_CELL];
    for (unsigned i = 0; i < 2; i++) {
        struct ms_samples *held = &forks->ways[ways[i]].held;
        if (held->count < MEDIAN_MIN)
            continue;
        cheap.ns = ms_samples_quantile(held, 0.5);
        snprintf(cheap.how, sizeof cheap.how, "%s holds its caller for %s (p50 of %s here)",
                ms_way_name(ways[i]), ns(cells[0], cheap.ns), ms_text_count(cells[1], held->count));
        return cheap;
    }
    const struct ms_line *line = ms_fork_model_best(&forks->model);
    if (forks->model.cause == MS_FORK_CAUSE_UNKNOWN) {
        snprintf(cheap.how, sizeof cheap.how,
                "what posix_spawn takes on this machine is not known from this trace");
        return cheap;
    }
    cheap.ns = fmax(0, line->base_ns + line->slope_ns * line->least_kb);
    snprintf(cheap.how, sizeof cheap.how,
            "by the model of this trace a fork of its smallest process takes %s",
            ns(cells[0], cheap.ns));
    return cheap;
}

static void rule_fork_to_exec(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    struct ms_samples *costs = &place->large_exec;
    struct cheap cheap = cheap_of(model);
    double median = ms_samples_quantile(costs, 0.5);
    if (!is_worth(model, costs->count, costs->sum) || median < DEARER * cheap.ns ||
            (double)place->execs < ONLY_MIN * (double)place->forks)
        return;
    struct ms_finding *finding = add(model, "fork-to-exec",
            "Use posix_spawn, or vfork with the exec right after it: neither copies page tables. "
            "Else start helpers before the memory is touched, or let a small process that was "
            "forked early do the spawning.",
            costs->sum - cheap.ns * (double)costs->count);
    char cells[6][MS_CELL];
    set_title(model, finding, "a large process forks only to run another program", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s of %s forks led to an exec, %s of them by a process of 32 MiB or more resident (up "
            "to %s), which took %s (p50), %s in all; %s",
            ms_text_count(cells[0], place->execs), ms_text_count(cells[1], place->forks),
            ms_text_count(cells[2], costs->count),
            ms_text_size(cells[3], (uint64_t)fmin(place->largest_kb * 1024, 0x1p63)),
            ns(cells[4], median), ns(cells[5], costs->sum), cheap.how);
}

static void rule_fork_late(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    struct ms_samples *late = &place->late, *earlier = &place->earlier;
    double saving = late->sum - earlier->sum;
    if (!is_worth(model, late->count, saving))
        return;
    struct ms_finding *finding = add(model, "fork-late",
            "Fork before the memory is touched: what a fork costs is the page tables of the pages "
            "touched so far. Where the child needs the data, as a snapshot does, huge pages keep "
            "the page tables small, at the price of larger copies on write.",
            saving);
    char cells[6][MS_CELL];
    set_title(model, finding, "a process forks after it has grown", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s forks took %s (p50), where the same process had forked in %s (p50) before it grew; "
            "the last one at %s resident, against %s",
            ms_text_count(cells[0], late->count), ns(cells[1], ms_samples_quantile(late, 0.5)),
            ns(cells[2], ms_samples_quantile(earlier, 0.5)),
            ms_text_size(cells[3], (uint64_t)fmin(place->late_kb * 1024, 0x1p63)),
            ms_text_size(cells[4], (uint64_t)fmin(place->earlier_kb * 1024, 0x1p63)));
}

static void rule_path_search(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    uint64_t failed = place->attempts.count + place->untimed_attempts;
    if (failed < ATTEMPTS_MIN)
        return;
    struct ms_finding *finding = add(model, "path-search",
            "Name programs by their absolute paths, or look each up once and remember it; put the "
            "directories that are hit most first in PATH and take those that do not exist out.",
            place->attempts.count ? place->attempts.sum : NAN);
    char cells[4][MS_CELL];
    set_title(model, finding, "programs are searched for in many directories", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s attempts failed in %s %s, %.1f each; they took %s", ms_text_count(cells[0], failed),
            ms_text_count(cells[1], place->searches),
            ms_text_plural(place->searches, "search", "searches"),
            (double)failed / (double)place->searches,
            ns(cells[2], place->attempts.count ? place->attempts.sum : NAN));
}

// The most starts within a second. They are sorted.
static size_t most_in_a_second(const struct ms_samples *starts)
{
    size_t most = 0, first = 0;
    for (size_t i = 0; i < starts->count; i++) {
        while (starts->list[i] - starts->list[first] > 1e9)
            first++;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return most;
}

static void rule_spawn_storm(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    size_t most = most_in_a_second(&place->starts);
    if (most < STORM_MIN)
        return;
    struct ms_finding *finding = add(model, "spawn-storm",
            "Do more in each process: in a shell builtins instead of commands in a loop, many "
            "arguments a call (xargs, find -exec ... +), a library call instead of a command, or "
            "one worker that is kept and fed.",
            place->making.count ? place->making.sum : NAN);
    char cells[5][MS_CELL];
    set_title(model, finding, "many short-lived children", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s children lived %s (p50) and no longer than %s, up to %s of them were made within a "
            "second; making them took %s (p50 until main where they ran a program, else of the "
            "call)",
            ms_text_count(cells[0], place->starts.count),
            ns(cells[1], ms_samples_quantile(&place->lived, 0.5)),
            ns(cells[2], ms_samples_quantile(&place->lived, 1)), ms_text_count(cells[3], most),
            ns(cells[4], ms_samples_quantile(&place->making, 0.5)));
}

// The median of the trace's gaps that are not long; not a number if there are too few.
static double usual_gap(const struct ms_forks *forks)
{
    struct ms_samples usual = {0};
    for (size_t i = 0; i < forks->gap.count; i++)
        if (forks->gap.list[i] < MS_SPAWN_GAP_NS)
            ms_samples_add(&usual, forks->gap.list[i]);
    double median = usual.count >= MEDIAN_MIN ? ms_samples_quantile(&usual, 0.5) : NAN;
    ms_samples_free(&usual);
    return median;
}

static void rule_fork_gap(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    struct ms_samples *gaps = &place->gaps;
    if (!is_worth(model, gaps->count, gaps->sum))
        return;
    bool has_loop = place->gap_closes >= CLOSES_MIN * gaps->count;
    struct ms_finding *finding = add(model, "fork-gap",
            has_loop
                    ? "Close all descriptors by one close_range or closefrom, or open them with "
                      "O_CLOEXEC; posix_spawn_file_actions_addclosefrom_np does it for "
                      "posix_spawn."
                    : "Get everything ready before the fork, so that only dup2, close and exec are "
                      "left for after it: each page that either side writes meanwhile is copied, "
                      "and after vfork the parent waits.",
            gaps->sum - usual_gap(model->forks) * (double)gaps->count);
    char cells[6][MS_CELL];
    set_title(model, finding, "a long way from fork to exec", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s children took 1 ms or more from their start to exec, %s (p50), at most %s; in that "
            "time they made %s calls of dup2, %s of close, %s that open",
            ms_text_count(cells[0], gaps->count), ns(cells[1], ms_samples_quantile(gaps, 0.5)),
            ns(cells[2], ms_samples_quantile(gaps, 1)), ms_text_count(cells[3], place->gap_dups),
            ms_text_count(cells[4], place->gap_closes), ms_text_count(cells[5], place->gap_opens));
}

static void rule_idle_child(
        const struct ms_spawn_model *model, struct ms_spawn_place *place, size_t number)
{
    struct ms_samples *idle = &place->idle;
    if (idle->count < IDLE_MIN)
        return;
    struct ms_finding *finding = add(model, "idle-child",
            "Such a child leaves nothing behind but its exit status. If it is not there to be "
            "killed or to fail in the parent's stead, do without it, or keep one that is told what "
            "to do.",
            idle->sum);
    char cells[5][MS_CELL];
    set_title(model, finding, "children that do nothing", number);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s of the children of %s forks ran no program, made no child, allocated and freed "
            "nothing and ended by themselves having used next to no time; they lived %s (p50), "
            "their forks took %s (p50)",
            ms_text_count(cells[0], idle->count), ms_text_count(cells[1], place->forks),
            ns(cells[2], ms_samples_quantile(&place->idle_lived, 0.5)),
            ns(cells[3], ms_samples_quantile(idle, 0.5)));
}

void ms_spawn_model_judge(struct ms_spawn_model *model, size_t place)
{
    struct ms_spawn_place *at = &model->places[place];
    rule_fork_to_exec(model, at, place);
    rule_fork_late(model, at, place);
    rule_path_search(model, at, place);
    rule_spawn_storm(model, at, place);
    rule_fork_gap(model, at, place);
    rule_idle_child(model, at, place);
}
