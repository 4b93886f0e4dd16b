// SPDX-License-Identifier: MIT
// Three lists are gone through once: the calls, the execs and the nodes of the family. What each
// tells is added to the whole and to the group of the image that made the call:
//
//     call  -> call->process      image -> group_of[image] -> group
//     exec  -> call->process        |
//     node  -> node->maker          by pid, executable or command line
#include "forks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

#define NAME_MAX_BYTES 4096

struct run {
    struct ms_fork_groups *groups;
    const struct ms_family *family;
    const struct ms_clock_fit *clock;
    uint32_t *group_of; // image by position -> group number + 1
};

static const struct ms_process *image_of(const struct run *run, uint32_t index)
{
    return ms_process_find(run->family->processes, index);
}

// Where what an image did counts, the whole being first: at most two. Returns their number.
static unsigned targets_of(const struct run *run, uint32_t index, struct ms_forks **targets)
{
    const struct ms_process *image = image_of(run, index);
    targets[0] = &run->groups->all;
    if (!image || !run->groups->count)
        return 1;
    targets[1] = &run->groups->list[run->group_of[image - run->family->processes->list]].forks;
    return 2;
}

static double ns_of(const struct run *run, uint64_t ticks)
{
    return ms_clock_ns(run->clock, (double)ticks);
}

bool ms_forks_models(uint64_t kind)
{
    return kind == MS_SPAWN_FORK || kind == MS_SPAWN_FORK_RAW || kind == MS_SPAWN_CLONE;
}

static void add_point(struct ms_forks *forks, const struct ms_spawn *call, double ns)
{
    forks->points = ms_memory_grow(
            forks->points, forks->point_count + 1, &forks->point_capacity, sizeof *forks->points);
    forks->points[forks->point_count++] = (struct ms_fork_point){
            .ns = ns,
            .rss_kb = (double)call->number[MS_SPAWN_P_RSS],
            .pte_kb = (double)call->number[MS_SPAWN_P_PTE],
            .vsz_kb = (double)call->number[MS_SPAWN_P_VSZ],
    };
}

static void add_call(const struct run *run, struct ms_forks *forks, const struct ms_spawn *call)
{
    uint64_t kind = call->number[MS_SPAWN_P_KIND];
    struct ms_fork_kind *sums = &forks->kinds[kind];
    double ns = ns_of(run, call->number[MS_SPAWN_P_COST]);
    if (ms_spawn_has(call, MS_SPAWN_P_READING))
        ms_samples_add(&forks->reading, ns_of(run, call->number[MS_SPAWN_P_READING]));
    if (ms_spawn_failed(call)) {
        sums->failed++;
        sums->failed_ns += ns;
        return;
    }
    sums->calls++;
    if (!ms_spawn_has(call, MS_SPAWN_P_COST))
        return;
    ms_samples_add(&sums->ns, ns);
    if (ms_forks_models(kind))
        add_point(forks, call, ns);
}

static void add_error(struct ms_fork_execs *execs, uint64_t number)
{
    for (unsigned i = 0; i < MS_FORK_ERRORS; i++) {
        struct ms_fork_error *error = &execs->errors[i];
        if (error->calls && error->number != number)
            continue;
        error->number = number;
        error->calls++;
        return;
    }
}

static void add_exec(const struct run *run, struct ms_forks *forks, const struct ms_exec *exec)
{
    struct ms_fork_execs *execs = &forks->execs;
    switch (exec->state) {
    case MS_EXEC_HAPPENED:
        execs->happened++;
        if (exec->has_to_init)
            ms_samples_add(&execs->to_init, ns_of(run, exec->to_init));
        if (exec->has_to_main)
            ms_samples_add(&execs->to_main, ns_of(run, exec->to_main));
        return;
    case MS_EXEC_FAILED:
        execs->failed++;
        execs->failed_ns += ns_of(run, exec->call->number[MS_SPAWN_P_COST]);
        add_error(execs, exec->call->number[MS_SPAWN_P_ERRNO]);
        return;
    case MS_EXEC_UNSURE:
        execs->unsure++;
        return;
    }
}

static void add_child(const struct run *run, struct ms_forks *forks, const struct ms_node *node)
{
    enum ms_way way = ms_node_way(node);
    if (node->has_latency)
        ms_samples_add(&forks->latency, ns_of(run, node->latency));
    if (node->has_gap) {
        ms_samples_add(&forks->gap, ns_of(run, node->gap));
        forks->gap_dups += node->gap_dups;
        forks->gap_closes += node->gap_closes;
        forks->gap_opens += node->gap_opens;
    }
    if (way >= MS_WAYS)
        return;
    struct ms_fork_way *sums = &forks->ways[way];
    sums->children++;
    if (ms_spawn_has(node->made, MS_SPAWN_P_COST))
        ms_samples_add(&sums->held, ns_of(run, node->made->number[MS_SPAWN_P_COST]));
    if (node->has_to_main)
        ms_samples_add(&sums->to_main, ns_of(run, node->to_main));
}

static void add_all(const struct run *run)
{
    const struct ms_family *family = run->family;
    struct ms_forks *targets[2];
    for (size_t i = 0; i < family->spawns->count; i++) {
        const struct ms_spawn *call = &family->spawns->list[i];
        unsigned count = targets_of(run, call->process, targets);
        for (unsigned j = 0; j < count && call->number[MS_SPAWN_P_KIND] < MS_FORK_KINDS; j++)
            add_call(run, targets[j], call);
    }
    for (size_t i = 0; i < family->exec_count; i++) {
        unsigned count = targets_of(run, family->execs[i].call->process, targets);
        for (unsigned j = 0; j < count; j++)
            add_exec(run, targets[j], &family->execs[i]);
    }
    for (size_t i = 0; i < family->count; i++) {
        unsigned count = targets_of(run, family->nodes[i].maker, targets);
        for (unsigned j = 0; j < count && family->nodes[i].made; j++)
            add_child(run, targets[j], &family->nodes[i]);
    }
}

// An image with what it is grouped by.
struct keyed {
    char *name;
    uint64_t pid;
    size_t node; // so that a pid that was used twice is two processes
    size_t image;
};

static char *command_line(const struct ms_process *image)
{
    char line[NAME_MAX_BYTES];
    size_t size = 0;
    const char *argument = ms_process_argument(image, NULL);
    for (; argument && size < sizeof line; argument = ms_process_argument(image, argument))
        size += (size_t)snprintf(
                line + size, sizeof line - size, "%s%s", size ? " " : "", argument);
    return ms_memory_text(line, size < sizeof line ? size : sizeof line - 1);
}

static struct keyed key_of(const struct run *run, size_t at, enum ms_fork_by by)
{
    const struct ms_process *image = &run->family->processes->list[at];
    const struct ms_node *node = ms_family_node(run->family, image);
    const char *exe = image->text[MS_PROCESS_EXE];
    struct keyed key = {.image = at};
    if (by == MS_FORK_BY_ARGV && ms_process_argument(image, NULL))
        key.name = command_line(image);
    else
        key.name = ms_memory_text(exe ? exe : "", exe ? strlen(exe) : 0);
    if (by == MS_FORK_BY_PROCESS && node) {
        key.pid = node->pid;
        key.node = (size_t)(node - run->family->nodes) + 1;
    }
    return key;
}

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    // The images of a process are one group, named after the last.
    int order = x->node ? 0 : strcmp(x->name, y->name);
    return order ? order : (x->image > y->image) - (x->image < y->image);
}

static bool is_same_group(const struct keyed *x, const struct keyed *y)
{
    return x->node == y->node && (x->node || strcmp(x->name, y->name) == 0);
}

static void make_groups(struct run *run, enum ms_fork_by by)
{
    struct ms_fork_groups *groups = run->groups;
    size_t count = run->family->processes->count;
    struct keyed *keys = ms_memory_zeroed(count ? count : 1, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(run, i, by);
    if (count)
        qsort(keys, count, sizeof *keys, by_key);
    groups->list = ms_memory_zeroed(count ? count : 1, sizeof *groups->list);
    for (size_t i = 0; i < count; i++) {
        groups->count += i == 0 || !is_same_group(&keys[i - 1], &keys[i]);
        struct ms_fork_group *group = &groups->list[groups->count - 1];
        free(group->name);
        group->name = keys[i].name;
        group->pid = keys[i].pid;
        run->group_of[keys[i].image] = (uint32_t)(groups->count - 1);
    }
    free(keys);
}

static void free_forks(struct ms_forks *forks)
{
    for (unsigned i = 0; i < MS_FORK_KINDS; i++)
        ms_samples_free(&forks->kinds[i].ns);
    for (unsigned i = 0; i < MS_WAYS; i++) {
        ms_samples_free(&forks->ways[i].held);
        ms_samples_free(&forks->ways[i].to_main);
    }
    free(forks->points);
    ms_samples_free(&forks->reading);
    ms_samples_free(&forks->execs.to_init);
    ms_samples_free(&forks->execs.to_main);
    ms_samples_free(&forks->gap);
    ms_samples_free(&forks->latency);
}

static int by_total(const void *a, const void *b)
{
    double x = ms_forks_total(&((const struct ms_fork_group *)a)->forks);
    double y = ms_forks_total(&((const struct ms_fork_group *)b)->forks);
    return (x < y) - (x > y);
}

// Groups that made no call are of no interest.
static void drop_empty_groups(struct ms_fork_groups *groups)
{
    size_t kept = 0;
    for (size_t i = 0; i < groups->count; i++) {
        if (ms_forks_any(&groups->list[i].forks)) {
            groups->list[kept++] = groups->list[i];
            continue;
        }
        free(groups->list[i].name);
        free_forks(&groups->list[i].forks);
    }
    groups->count = kept;
    if (kept)
        qsort(groups->list, kept, sizeof *groups->list, by_total);
}

void ms_forks_run(struct ms_fork_groups *groups, const struct ms_family *family,
        const struct ms_clock_fit *clock, enum ms_fork_by by)
{
    struct run run = {.groups = groups, .family = family, .clock = clock};
    size_t images = family->processes->count;
    *groups = (struct ms_fork_groups){0};
    run.group_of = ms_memory_zeroed(images ? images : 1, sizeof *run.group_of);
    if (by != MS_FORK_BY_NONE)
        make_groups(&run, by);
    add_all(&run);
    drop_empty_groups(groups);
    ms_fork_model_fit(&groups->all.model, groups->all.points, groups->all.point_count);
    for (size_t i = 0; i < groups->count; i++) {
        struct ms_forks *forks = &groups->list[i].forks;
        ms_fork_model_fit(&forks->model, forks->points, forks->point_count);
    }
    free(run.group_of);
}

void ms_forks_free(struct ms_fork_groups *groups)
{
    free_forks(&groups->all);
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->list[i].name);
        free_forks(&groups->list[i].forks);
    }
    free(groups->list);
    *groups = (struct ms_fork_groups){0};
}

bool ms_forks_any(const struct ms_forks *forks)
{
    bool any = forks->execs.happened || forks->execs.failed || forks->execs.unsure;
    for (unsigned i = 0; i < MS_FORK_KINDS; i++)
        any |= forks->kinds[i].calls || forks->kinds[i].failed;
    return any;
}

double ms_forks_total(const struct ms_forks *forks)
{
    double ns = forks->execs.failed_ns;
    for (unsigned i = 0; i < MS_FORK_KINDS; i++)
        ns += forks->kinds[i].ns.sum + forks->kinds[i].failed_ns;
    return ns;
}

// The greatest power of two that is not above the size.
static double octave_of(double kb)
{
    return ldexp(1, (int)floor(log2(kb)));
}

size_t ms_forks_buckets(const struct ms_forks *forks, bool by_pte, struct ms_fork_bucket *buckets)
{
    struct ms_fork_bucket all[MS_FORK_BUCKETS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < forks->point_count; i++) {
        const struct ms_fork_point *point = &forks->points[i];
        double kb = by_pte ? point->pte_kb : point->rss_kb;
        if (kb < 1)
            continue;
        struct ms_fork_bucket *bucket = &all[(unsigned)log2(octave_of(kb))];
        bucket->from_kb = octave_of(kb);
        ms_samples_add(&bucket->ns, point->ns);
        ms_samples_add(&bucket->ns_per_kb, point->ns / kb);
    }
    for (unsigned i = 0; i < MS_FORK_BUCKETS; i++)
        if (all[i].ns.count)
            buckets[count++] = all[i];
    return count;
}

void ms_forks_free_buckets(struct ms_fork_bucket *buckets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ms_samples_free(&buckets[i].ns);
        ms_samples_free(&buckets[i].ns_per_kb);
    }
}

void ms_forks_octaves(const struct ms_samples *samples, size_t counts[MS_FORK_OCTAVES])
{
    memset(counts, 0, MS_FORK_OCTAVES * sizeof *counts);
    for (size_t i = 0; i < samples->count; i++) {
        int octave = samples->list[i] < 2 ? 0 : ilogb(samples->list[i]);
        counts[octave < MS_FORK_OCTAVES ? octave : MS_FORK_OCTAVES - 1]++;
    }
}

const char *ms_fork_by_name(enum ms_fork_by by)
{
    switch (by) {
    case MS_FORK_BY_PROCESS:
        return "process";
    case MS_FORK_BY_EXE:
        return "exe";
    case MS_FORK_BY_ARGV:
        return "argv";
    case MS_FORK_BY_NONE:
        break;
    }
    return NULL;
}
