// SPDX-License-Identifier: MIT
// Sorts what the process tree tells by the call site that made a process or searched a program, for
// the rules in model_spawn_rules.c. Nodes come in the order of their start, so what was earlier in
// a process is known when a later call of it is looked at.
#include "model_spawn.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

// A child that used no more CPU time than this did nothing with what it did not allocate.
#define IDLE_CPU_US 10000
// The same told by its life, if nobody waited for it with rusage.
#define IDLE_LIFE_NS 20e6

// What the forks of an image cost while it was small.
struct small {
    double rss_kb; // the least
    struct ms_samples ns;
};

struct run {
    struct ms_spawn_model *model;
    const struct ms_process *entered; // whose addresses the sites take
    struct small *smalls;             // by image
};

static double ns_of(const struct run *run, uint64_t ticks)
{
    return ms_clock_ns(&run->model->replay->reader->clock, (double)ticks);
}

static double cost_of(const struct run *run, const struct ms_spawn *call)
{
    return ms_spawn_has(call, MS_SPAWN_P_COST) ? ns_of(run, call->number[MS_SPAWN_P_COST]) : NAN;
}

// Enters the addresses of an image only when it changes: that empties a cache.
static struct ms_spawn_place *place_of(struct run *run, const struct ms_spawn *call)
{
    struct ms_spawn_model *model = run->model;
    const struct ms_process *image = ms_process_find(model->family->processes, call->process);
    uint64_t caller = call->number[MS_SPAWN_P_CALLER];
    if (image != run->entered)
        ms_site_enter(&model->sites, image);
    run->entered = image;
    uint32_t number = caller ? ms_site_number(&model->sites, caller) : 0;
    model->places = ms_memory_grow(
            model->places, (size_t)number + 1, &model->capacity, sizeof *model->places);
    for (; model->count <= number; model->count++)
        model->places[model->count] = (struct ms_spawn_place){0};
    return &model->places[number];
}

static void note_large_exec(
        const struct run *run, struct ms_spawn_place *place, const struct ms_node *node)
{
    double rss_kb = (double)node->made->number[MS_SPAWN_P_RSS];
    double ns = cost_of(run, node->made);
    place->execs++;
    if (rss_kb < MS_SPAWN_LARGE_KB || !isfinite(ns))
        return;
    ms_samples_add(&place->large_exec, ns);
    place->largest_kb = fmax(place->largest_kb, rss_kb);
}

// Keeps the costs at about the least size seen so far.
static void note_small(struct small *small, double rss_kb, double ns)
{
    if (small->ns.count && rss_kb > small->rss_kb * 1.25)
        return;
    if (small->ns.count && rss_kb < small->rss_kb / 1.25)
        ms_samples_free(&small->ns);
    if (!small->ns.count || rss_kb < small->rss_kb)
        small->rss_kb = rss_kb;
    ms_samples_add(&small->ns, ns);
}

static void note_late(
        struct run *run, struct ms_spawn_place *place, const struct ms_spawn *call, bool has_exec)
{
    const struct ms_processes *processes = run->model->family->processes;
    const struct ms_process *image = ms_process_find(processes, call->process);
    double rss_kb = (double)call->number[MS_SPAWN_P_RSS], ns = cost_of(run, call);
    if (!image || rss_kb <= 0 || !isfinite(ns))
        return;
    struct small *small = &run->smalls[image - processes->list];
    double earlier = ms_samples_quantile(&small->ns, 0.5);
    if (!has_exec && rss_kb >= 2 * small->rss_kb && rss_kb >= small->rss_kb + MS_SPAWN_LARGE_KB &&
            ns >= 2 * earlier) {
        ms_samples_add(&place->late, ns);
        ms_samples_add(&place->earlier, earlier);
        place->late_kb = rss_kb;
        place->earlier_kb = small->rss_kb;
    }
    note_small(small, rss_kb, ns);
}

static bool is_short_lived(const struct ms_reader *reader, const struct ms_node *node, double *ns)
{
    if (!node->start || node->ending.ticks < node->start)
        return false;
    *ns = ms_clock_ns(&reader->clock, (double)(node->ending.ticks - node->start));
    return *ns <= MS_SPAWN_SHORT_NS;
}

static void note_short_lived(
        const struct run *run, struct ms_spawn_place *place, const struct ms_node *node)
{
    const struct ms_reader *reader = run->model->replay->reader;
    double lived, making = cost_of(run, node->made);
    if (!is_short_lived(reader, node, &lived))
        return;
    if (node->has_to_main)
        making = ns_of(run, node->to_main);
    ms_samples_add(&place->starts, ms_clock_at(&reader->clock, node->start));
    ms_samples_add(&place->lived, lived);
    if (isfinite(making))
        ms_samples_add(&place->making, making);
}

static void note_gap(
        const struct run *run, struct ms_spawn_place *place, const struct ms_node *node)
{
    double gap = ns_of(run, node->gap);
    if (!node->has_gap || gap < MS_SPAWN_GAP_NS)
        return;
    ms_samples_add(&place->gaps, gap);
    place->gap_dups += node->gap_dups;
    place->gap_closes += node->gap_closes;
    place->gap_opens += node->gap_opens;
}

// Whether it used next to no time, as far as that was told.
static bool used_no_time(const struct run *run, const struct ms_node *node)
{
    const struct ms_spawn *wait = node->wait;
    double lived;
    if (wait && ms_spawn_has(wait, MS_SPAWN_P_UTIME) && ms_spawn_has(wait, MS_SPAWN_P_STIME))
        return wait->number[MS_SPAWN_P_UTIME] <= IDLE_CPU_US &&
               wait->number[MS_SPAWN_P_STIME] <= IDLE_CPU_US;
    return is_short_lived(run->model->replay->reader, node, &lived) && lived <= IDLE_LIFE_NS;
}

// Whether the child ran no program, made no child, allocated and freed nothing, used no time, and
// ended by itself. What a trace that lost events does not tell may have happened.
static bool is_idle(const struct run *run, const struct ms_node *node)
{
    const struct ms_replay *replay = run->model->replay;
    const struct ms_process *image = node->first;
    if (!image || node->images != 1 || node->exec_count || node->descendants || replay->lost ||
            ms_reader_is_damaged(replay->reader))
        return false;
    if (node->ending.fate != MS_FATE_EXIT && node->ending.fate != MS_FATE_EXIT_NOW)
        return false;
    return replay->figures[image - replay->reader->processes.list].events == 0 &&
           used_no_time(run, node);
}

static void note_idle(
        const struct run *run, struct ms_spawn_place *place, const struct ms_node *node)
{
    double lived, ns = cost_of(run, node->made);
    if (!isfinite(ns) || !is_idle(run, node))
        return;
    ms_samples_add(&place->idle, ns);
    if (is_short_lived(run->model->replay->reader, node, &lived))
        ms_samples_add(&place->idle_lived, lived);
}

static void note_node(struct run *run, const struct ms_node *node)
{
    bool has_exec = ms_node_way(node) == MS_WAY_FORK_EXEC;
    struct ms_spawn_place *place = place_of(run, node->made);
    note_short_lived(run, place, node);
    note_gap(run, place, node);
    if (!ms_forks_models(node->made->number[MS_SPAWN_P_KIND]))
        return;
    place->forks++;
    note_late(run, place, node->made, has_exec);
    if (has_exec)
        note_large_exec(run, place, node);
    else
        note_idle(run, place, node);
}

static const char *base_name(const struct ms_exec *exec)
{
    const char *path = exec->call->path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

// Attempts of one search: the same node tries the same name, and only the last one may succeed.
static bool is_same_search(const struct ms_exec *before, const struct ms_exec *exec)
{
    const char *x = base_name(before), *y = base_name(exec);
    return before->node == exec->node && before->state == MS_EXEC_FAILED && x && y &&
           strcmp(x, y) == 0;
}

// Execs [from, end) are one search.
static void note_search(struct run *run, const struct ms_exec *from, const struct ms_exec *end)
{
    struct ms_spawn_place *place = place_of(run, from->call);
    place->searches++;
    for (; from < end; from++) {
        double ns = cost_of(run, from->call);
        if (from->state != MS_EXEC_FAILED)
            continue;
        if (isfinite(ns))
            ms_samples_add(&place->attempts, ns);
        else
            place->untimed_attempts++;
    }
}

static void note_searches(struct run *run)
{
    const struct ms_exec *execs = run->model->family->execs;
    size_t count = run->model->family->exec_count;
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at + 1; end < count && is_same_search(&execs[end - 1], &execs[end]);)
            end++;
        if (end - at > 1)
            note_search(run, execs + at, execs + end);
    }
}

static void note_all(struct run *run)
{
    const struct ms_family *family = run->model->family;
    size_t images = family->processes->count;
    run->smalls = ms_memory_zeroed(images ? images : 1, sizeof *run->smalls);
    for (size_t i = 0; i < family->count; i++)
        if (family->nodes[i].made)
            note_node(run, &family->nodes[i]);
    note_searches(run);
    for (size_t i = 0; i < images; i++)
        ms_samples_free(&run->smalls[i].ns);
    free(run->smalls);
}

static void free_place(struct ms_spawn_place *place)
{
    ms_samples_free(&place->large_exec);
    ms_samples_free(&place->late);
    ms_samples_free(&place->earlier);
    ms_samples_free(&place->starts);
    ms_samples_free(&place->lived);
    ms_samples_free(&place->making);
    ms_samples_free(&place->gaps);
    ms_samples_free(&place->idle);
    ms_samples_free(&place->idle_lived);
    ms_samples_free(&place->attempts);
}

void ms_model_find_spawns(struct ms_findings *findings, const struct ms_replay *replay,
        struct ms_forks *forks, double lifetime_ns)
{
    struct ms_spawn_model *model = ms_memory_zeroed(1, sizeof *model);
    struct run run = {.model = model};
    model->findings = findings;
    model->replay = replay;
    model->family = &replay->reader->family;
    model->forks = forks;
    model->lifetime_ns = lifetime_ns;
    ms_site_open(&model->sites, model->family->processes);
    note_all(&run);
    for (size_t i = 0; i < model->count; i++)
        ms_spawn_model_judge(model, i);
    for (size_t i = 0; i < model->count; i++)
        free_place(&model->places[i]);
    ms_model_sort(findings);
    ms_site_free(&model->sites);
    free(model->places);
    free(model);
}
