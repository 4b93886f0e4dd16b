// SPDX-License-Identifier: MIT
// An image knows one other: the one that it was forked from, or the one from whose environment it
// learned of the trace. What that one, or its vfork children, recorded tells the rest:
//
//     fork     PARENT P: P's birth by the call that the image names, else P's birth of that pid
//     exec     ANCESTOR A of the same pid: A's successor
//              A's birth of that pid (posix_spawn; vfork, then exec)
//              A's call of a shell, by parent and time
//              A's birth of the parent's pid: a program between them that is not traced
//              else A itself
//
// A process is numbered after the one that it comes from: what says otherwise is not believed.
#include "lineage.h"

#include <stdlib.h>

#include "memory.h"

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_caller(const void *a, const void *b)
{
    const struct ms_announced *x = a, *y = b;
    int order = compare(x->process, y->process);
    if (!order)
        order = compare(x->pid, y->pid);
    if (!order)
        order = compare(x->start, y->start);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

void ms_announcements_collect(struct ms_announcements *announcements,
        const struct ms_processes *processes, const struct ms_spawns *spawns)
{
    size_t capacity = 0;
    *announcements = (struct ms_announcements){0};
    for (size_t i = 0; i < spawns->count; i++) {
        const struct ms_spawn *call = &spawns->list[i];
        uint64_t pid = call->number[MS_SPAWN_P_PID];
        if (ms_spawn_class_of(call) != MS_SPAWN_EXECS || ms_spawn_failed(call))
            continue;
        announcements->list = ms_memory_grow(announcements->list, announcements->count + 1,
                &capacity, sizeof *announcements->list);
        announcements->list[announcements->count++] = (struct ms_announced){
                .process = call->process,
                .pid = ms_birth_is_foreign(processes, call->process, pid) ? pid : 0,
                .start = ms_spawn_start(call),
                .call = call,
        };
    }
    if (announcements->count)
        qsort(announcements->list, announcements->count, sizeof *announcements->list, by_caller);
}

void ms_announcements_free(struct ms_announcements *announcements)
{
    free(announcements->list);
    *announcements = (struct ms_announcements){0};
}

// Whether the image itself announced an exec not after `ticks`.
static bool has_announced(
        const struct ms_announcements *announcements, uint32_t process, uint64_t ticks)
{
    size_t low = 0, high = announcements->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ms_announced *one = &announcements->list[middle];
        int order = compare(one->process, process);
        if (!order)
            order = compare(one->pid, 0);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == announcements->count)
        return false;
    const struct ms_announced *first = &announcements->list[low];
    return first->process == process && first->pid == 0 && first->start <= ticks;
}

struct tracer {
    const struct ms_processes *processes;
    const struct ms_announcements *announcements;
    const struct ms_births *births;
};

// The image that a property of this one names, numbered before it.
static struct ms_process *named(
        const struct tracer *tracer, const struct ms_process *image, unsigned tag)
{
    uint64_t index = image->number[tag];
    return index && index < image->index ? ms_process_find(tracer->processes, (uint32_t)index)
                                         : NULL;
}

// An exec that a damaged block told of can still be inferred: the pid is the same, and nothing says
// that the process ended in another way.
static bool is_successor(const struct tracer *tracer, const struct ms_process *before,
        const struct ms_process *image)
{
    return before->known && !before->successor &&
           before->number[MS_PROCESS_PID] == image->number[MS_PROCESS_PID] &&
           (has_announced(
                    tracer->announcements, before->index, image->number[MS_PROCESS_START_TICKS]) ||
                   before->ending.fate == MS_FATE_OPEN);
}

// Makes the birth that of the image, unless another image came of it.
static bool claim(struct ms_lineage *lineage, struct ms_birth *birth, struct ms_process *image)
{
    if (!birth || (birth->image && !ms_birth_is_shell(birth)))
        return false;
    lineage->birth = birth;
    lineage->is_direct = true;
    if (!birth->image)
        birth->image = image;
    return true;
}

static void trace_exec(
        const struct tracer *tracer, struct ms_lineage *lineage, struct ms_process *image)
{
    struct ms_process *ancestor = named(tracer, image, MS_PROCESS_ANCESTOR);
    uint64_t start = image->number[MS_PROCESS_START_TICKS];
    uint64_t pid = image->number[MS_PROCESS_PID], ppid = image->number[MS_PROCESS_PPID];
    if (!ancestor)
        return;
    if (is_successor(tracer, ancestor, image)) {
        ancestor->successor = image->index;
        lineage->before = ancestor;
        return;
    }
    uint32_t index = ancestor->index;
    lineage->maker = ancestor;
    if (claim(lineage, ms_birth_find(tracer->births, index, pid, start), image) ||
            claim(lineage, ms_birth_find_shell(tracer->births, tracer->processes, index, image),
                    image))
        return;
    lineage->is_direct = ppid == ancestor->number[MS_PROCESS_PID];
    if (!lineage->is_direct && ppid)
        lineage->through = ms_birth_find(tracer->births, index, ppid, start);
}

static void trace_fork(
        const struct tracer *tracer, struct ms_lineage *lineage, struct ms_process *image)
{
    struct ms_process *parent = named(tracer, image, MS_PROCESS_PARENT);
    uint64_t start = image->number[MS_PROCESS_START_TICKS];
    if (!parent)
        return;
    lineage->maker = parent;
    lineage->is_direct = true;
    // A child in a PID namespace of its own has another pid than the one its parent was told.
    uint64_t made = image->number[MS_PROCESS_MADE], pid = image->number[MS_PROCESS_PID];
    bool is_announced = made || !(image->number[MS_PROCESS_FLAGS] & MS_PROCESS_LATE);
    if (made && claim(lineage, ms_birth_find_made(tracer->births, parent->index, made), image))
        return;
    if (is_announced)
        claim(lineage, ms_birth_find(tracer->births, parent->index, pid, start), image);
}

struct ms_lineage *ms_lineage_trace(const struct ms_processes *processes,
        const struct ms_announcements *announcements, const struct ms_births *births)
{
    const struct tracer tracer = {processes, announcements, births};
    struct ms_lineage *lineages = ms_memory_zeroed(processes->count, sizeof *lineages);
    for (size_t i = 0; i < processes->count; i++) {
        struct ms_process *image = &processes->list[i];
        if (!image->known)
            continue;
        if (image->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_EXEC)
            trace_exec(&tracer, &lineages[i], image);
        else
            trace_fork(&tracer, &lineages[i], image);
    }
    return lineages;
}
