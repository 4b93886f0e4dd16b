// SPDX-License-Identifier: MIT
// Execs by the node whose program they were to replace. A node goes through stages: before its
// first image, if a vfork child called exec, then one an image. The last exec of a stage that was
// announced before the next image began is the one that it came of; without a next image the last
// one that was announced led out of the trace, if the process did not end in another way later.
#include <stdlib.h>

#include "family_parts.h"
#include "memory.h"

// Whose program the call was to replace: the image's own, or NULL: that of a vfork child.
static struct ms_process *image_before(
        const struct ms_family_build *build, const struct ms_spawn *call)
{
    if (ms_birth_is_foreign(build->processes, call->process, call->number[MS_SPAWN_P_PID]))
        return NULL;
    return ms_process_find(build->processes, call->process);
}

static void collect(const struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    size_t capacity = 0;
    for (size_t i = 0; i < build->spawns->count; i++) {
        const struct ms_spawn *call = &build->spawns->list[i];
        struct ms_node *node = family->by_caller[i];
        if (ms_spawn_class_of(call) != MS_SPAWN_EXECS || !node)
            continue;
        family->execs = ms_memory_grow(
                family->execs, family->exec_count + 1, &capacity, sizeof *family->execs);
        family->execs[family->exec_count++] = (struct ms_exec){
                .call = call,
                .node = node,
                .before = image_before(build, call),
                .state = ms_spawn_failed(call) ? MS_EXEC_FAILED : MS_EXEC_UNSURE,
        };
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// By node and stage; the list of calls, and so their addresses, are in the order of time.
static int by_stage(const void *a, const void *b)
{
    const struct ms_exec *x = a, *y = b;
    int order = (x->node > y->node) - (x->node < y->node);
    if (!order)
        order = compare(x->before ? x->before->index : 0, y->before ? y->before->index : 0);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

// Whether the vfork child, or the image itself, said after the call that it ended.
static bool ended_after(const struct ms_exec *exec)
{
    const struct ms_ending *ending = exec->before ? &exec->before->ending : &exec->node->ending;
    return ending->fate != MS_FATE_OPEN && ending->ticks > ms_spawn_start(exec->call);
}

static void take_times(struct ms_exec *exec)
{
    uint64_t entry = ms_spawn_entry(exec->call);
    uint64_t init = exec->image->number[MS_PROCESS_START_TICKS], main = exec->image->main_ticks;
    exec->has_to_init = init >= entry;
    exec->to_init = exec->has_to_init ? init - entry : 0;
    exec->has_to_main = main && main >= entry;
    exec->to_main = exec->has_to_main ? main - entry : 0;
}

// The image that came of the stage's exec; NULL if there is none.
static struct ms_process *image_after(
        const struct ms_family_build *build, const struct ms_exec *exec)
{
    struct ms_process *first = exec->node->first;
    if (exec->before)
        return ms_node_image_after(build->family, exec->before);
    return first && first->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_EXEC ? first : NULL;
}

// Finds the exec of a stage that happened: execs [0, count).
static void judge_stage(const struct ms_family_build *build, struct ms_exec *execs, size_t count)
{
    struct ms_process *image = image_after(build, execs);
    for (size_t i = count; i-- > 0;) {
        struct ms_exec *exec = &execs[i];
        bool is_late = image && ms_spawn_start(exec->call) > image->number[MS_PROCESS_START_TICKS];
        if (exec->state == MS_EXEC_FAILED || is_late || (!image && ended_after(exec)))
            continue;
        exec->state = MS_EXEC_HAPPENED;
        exec->image = image;
        if (image) {
            image->exec = exec->call;
            take_times(exec);
        } else {
            exec->node->unseen = exec;
        }
        return;
    }
}

static void judge_stages(const struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    for (size_t first = 0, count; first < family->exec_count; first += count) {
        const struct ms_exec *exec = &family->execs[first];
        count = 1;
        while (first + count < family->exec_count && exec[count].node == exec->node &&
                exec[count].before == exec->before)
            count++;
        judge_stage(build, &family->execs[first], count);
    }
}

// The gap is told by the first exec that was tried.
static void take_gap(struct ms_node *node, const struct ms_spawn *call)
{
    uint64_t begin = call->number[MS_SPAWN_P_GAP_BEGIN], entry = ms_spawn_entry(call);
    if (node->has_gap || !ms_spawn_has(call, MS_SPAWN_P_GAP_BEGIN) || begin > entry)
        return;
    node->has_gap = true;
    node->gap = entry - begin;
    node->gap_dups = call->number[MS_SPAWN_P_GAP_DUPS];
    node->gap_closes = call->number[MS_SPAWN_P_GAP_CLOSES];
    node->gap_opens = call->number[MS_SPAWN_P_GAP_OPENS];
}

static void give_to_nodes(struct ms_family *family)
{
    for (size_t i = 0; i < family->exec_count; i++) {
        struct ms_exec *exec = &family->execs[i];
        struct ms_node *node = exec->node;
        if (node->exec_count++ == 0)
            node->execs = exec;
        take_gap(node, exec->call);
        if (exec->state == MS_EXEC_FAILED) {
            node->failed_execs++;
            node->failed_ticks += exec->call->number[MS_SPAWN_P_COST];
        }
    }
}

// From the call that made the process to its first step, and to main of the first program that it
// ran by exec.
static void take_latencies(const struct ms_family_build *build, struct ms_node *node)
{
    const struct ms_process *image = node->first;
    if (!node->made || !image)
        return;
    uint64_t begin = image->number[MS_PROCESS_START_TICKS];
    if (image->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_FORK) {
        bool is_late = image->number[MS_PROCESS_FLAGS] & MS_PROCESS_LATE;
        node->has_latency = !is_late && begin >= node->start;
        node->latency = node->has_latency ? begin - node->start : 0;
        image = ms_node_image_after(build->family, image);
    }
    node->has_to_main = image && image->main_ticks && image->main_ticks >= node->start;
    node->to_main = node->has_to_main ? image->main_ticks - node->start : 0;
}

void ms_family_make_execs(struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    collect(build);
    if (family->exec_count)
        qsort(family->execs, family->exec_count, sizeof *family->execs, by_stage);
    judge_stages(build);
    give_to_nodes(family);
    for (size_t i = 0; i < family->count; i++)
        take_latencies(build, &family->nodes[i]);
}
