// SPDX-License-Identifier: MIT
// Nodes. A life of a pid begins with the first image of a process, or with a call that no image
// came of, or is known only because it was waited for. These are gathered as seeds, which waits are
// matched to by pid and time; then the seeds become nodes in order of time.
#include <stdlib.h>

#include "family_parts.h"
#include "memory.h"

struct seed {
    uint64_t pid;
    uint64_t start;           // 0: unknown
    uint64_t order;           // start, or else the time of the wait
    struct ms_process *image; // the first one
    struct ms_birth *birth;   // the call, NULL if unknown
    const struct ms_spawn *wait;
};

struct seeds {
    struct seed *list;
    size_t count;
    size_t capacity;
};

static void seed_add(struct seeds *seeds, const struct seed *seed)
{
    seeds->list =
            ms_memory_grow(seeds->list, seeds->count + 1, &seeds->capacity, sizeof *seeds->list);
    seeds->list[seeds->count] = *seed;
    seeds->list[seeds->count++].order = seed->start;
}

static void seed_images(struct seeds *seeds, const struct ms_family_build *build)
{
    for (size_t i = 0; i < build->processes->count; i++) {
        struct ms_process *image = &build->processes->list[i];
        const struct ms_lineage *lineage = &build->lineages[i];
        struct ms_birth *birth = lineage->birth;
        if (lineage->before)
            continue;
        seed_add(seeds,
                // The pid that the parent was told is what it waits for.
                &(struct seed){
                        .pid = birth && birth->child ? birth->child : image->number[MS_PROCESS_PID],
                        .start = birth && birth->call ? birth->start
                                                      : image->number[MS_PROCESS_START_TICKS],
                        .image = image,
                        .birth = birth});
    }
}

// Whether the call must have made a process: most calls of wordexp do not.
static bool has_child(const struct ms_birth *birth)
{
    return !birth->call || birth->call->number[MS_SPAWN_P_KIND] != MS_SPAWN_WORDEXP;
}

static void seed_births(struct seeds *seeds, const struct ms_family_build *build)
{
    for (size_t i = 0; i < build->births.count; i++) {
        struct ms_birth *birth = &build->births.list[i];
        if (!birth->image && has_child(birth))
            seed_add(seeds,
                    &(struct seed){.pid = birth->child, .start = birth->start, .birth = birth});
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_pid(const void *a, const void *b)
{
    const struct seed *x = a, *y = b;
    int order = compare(x->pid, y->pid);
    return order ? order : compare(x->start, y->start);
}

static int by_order(const void *a, const void *b)
{
    const struct seed *x = a, *y = b;
    int order = compare(x->order, y->order);
    if (!order)
        order = compare(x->image ? x->image->index : 0, y->image ? y->image->index : 0);
    return order ? order : compare(x->pid, y->pid);
}

// The latest life of a pid that began before `ticks`, among the first `count` seeds, which are by
// pid; NULL if there is none.
static struct seed *seed_find(const struct seeds *seeds, size_t count, uint64_t pid, uint64_t ticks)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct seed *seed = &seeds->list[middle];
        if (seed->pid < pid || (seed->pid == pid && seed->start <= ticks))
            low = middle + 1;
        else
            high = middle;
    }
    return low && seeds->list[low - 1].pid == pid ? &seeds->list[low - 1] : NULL;
}

// Waits are in order of time. Of several for one life the first counts; the wait of a life that
// nothing else tells of makes one. pclose does not wait by pid.
static void match_waits(struct seeds *seeds, const struct ms_spawns *spawns)
{
    size_t known = seeds->count;
    if (known)
        qsort(seeds->list, known, sizeof *seeds->list, by_pid);
    for (size_t i = 0; i < spawns->count; i++) {
        const struct ms_spawn *call = &spawns->list[i];
        uint64_t pid = call->number[MS_SPAWN_P_CHILD];
        if (ms_spawn_class_of(call) != MS_SPAWN_WAITS || ms_spawn_failed(call) || !pid ||
                call->number[MS_SPAWN_P_KIND] == MS_SPAWN_PCLOSE)
            continue;
        struct seed *seed = seed_find(seeds, known, pid, ms_spawn_finish(call));
        if (seed && !seed->wait) {
            seed->wait = call;
        } else if (!seed) {
            seed_add(seeds, &(struct seed){.pid = pid, .wait = call});
            seeds->list[seeds->count - 1].order = ms_spawn_start(call);
        }
    }
}

static void add_images(const struct ms_family_build *build, struct ms_node *node)
{
    struct ms_family *family = build->family;
    for (struct ms_process *image = node->first; image;
            image = ms_node_image_after(family, image)) {
        family->by_image[image - build->processes->list] = node;
        node->last = image;
        node->images++;
    }
}

static void make_node(
        const struct ms_family_build *build, struct ms_node *node, const struct seed *seed)
{
    struct ms_birth *birth = seed->birth;
    *node = (struct ms_node){
            .pid = seed->pid, .start = seed->start, .first = seed->image, .wait = seed->wait};
    if (birth) {
        node->made = birth->call;
        node->maker = birth->process;
        node->is_vfork_child =
                !birth->call || birth->call->number[MS_SPAWN_P_KIND] == MS_SPAWN_VFORK;
        if (node->is_vfork_child || ms_spawn_class_of(node->made) == MS_SPAWN_FORKS)
            node->copied = ms_process_find(build->processes, birth->process);
        if (!birth->node)
            birth->node = node;
    }
    if (seed->image)
        node->ppid = seed->image->number[MS_PROCESS_PPID];
    else if (node->made)
        node->ppid = ms_birth_caller_pid(build->processes, node->made);
    else if (seed->wait)
        node->ppid = ms_birth_caller_pid(build->processes, seed->wait);
    add_images(build, node);
}

struct ms_node *ms_family_node_of_pid(
        const struct ms_family_build *build, uint32_t process, uint64_t pid, uint64_t ticks)
{
    const struct ms_process *image = ms_process_find(build->processes, process);
    if (ms_birth_is_foreign(build->processes, process, pid)) {
        const struct ms_birth *birth = ms_birth_find(&build->births, process, pid, ticks);
        return birth ? birth->node : NULL;
    }
    return image ? ms_family_node(build->family, image) : NULL;
}

// Who made each call, and whom by it. A birth's process is not always the one that wrote of it.
static void index_calls(const struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    for (size_t i = 0; i < build->spawns->count; i++) {
        const struct ms_spawn *call = &build->spawns->list[i];
        family->by_caller[i] = ms_family_node_of_pid(
                build, call->process, call->number[MS_SPAWN_P_PID], ms_spawn_start(call));
    }
    for (size_t i = 0; i < build->births.count; i++) {
        const struct ms_birth *birth = &build->births.list[i];
        const struct ms_spawn *call = birth->call;
        if (!call)
            continue;
        family->by_call[call - build->spawns->list] = birth->node;
        if (birth->process != call->process)
            family->by_caller[call - build->spawns->list] =
                    ms_family_node_of_pid(build, birth->process, 0, birth->start);
    }
}

void ms_family_make_nodes(struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    struct seeds seeds = {0};
    seed_images(&seeds, build);
    seed_births(&seeds, build);
    match_waits(&seeds, build->spawns);
    if (seeds.count)
        qsort(seeds.list, seeds.count, sizeof *seeds.list, by_order);
    family->nodes = ms_memory_zeroed(seeds.count, sizeof *family->nodes);
    family->by_image = ms_memory_zeroed(build->processes->count, sizeof(struct ms_node *));
    family->by_call = ms_memory_zeroed(build->spawns->count, sizeof(struct ms_node *));
    family->by_caller = ms_memory_zeroed(build->spawns->count, sizeof(struct ms_node *));
    for (size_t i = 0; i < seeds.count; i++)
        make_node(build, &family->nodes[i], &seeds.list[i]);
    family->count = seeds.count;
    index_calls(build);
    free(seeds.list);
}
