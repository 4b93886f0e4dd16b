// SPDX-License-Identifier: MIT
// One sorted list answers everything: calls of shells stand in it with a child of 0. A vfork child
// whose parent was killed before vfork returned has left records and no call that made it: the
// first of them stands in for the call.
#include "birth.h"

#include <stdlib.h>

#include "memory.h"

// Calls of shells that are looked at for one image: as many threads may be inside of one at a time.
#define SHELLS_TRIED 64
// Calls with one and the same start that are looked at: one per processor could be so.
#define ALIKE_TRIED 64

static uint64_t pid_of(const struct ms_processes *processes, uint32_t process)
{
    const struct ms_process *image = ms_process_find(processes, process);
    return image ? image->number[MS_PROCESS_PID] : 0;
}

bool ms_birth_is_foreign(const struct ms_processes *processes, uint32_t process, uint64_t pid)
{
    uint64_t own = pid ? pid_of(processes, process) : 0;
    return pid && own && pid != own;
}

uint64_t ms_birth_caller_pid(const struct ms_processes *processes, const struct ms_spawn *call)
{
    uint64_t pid = call->number[MS_SPAWN_P_PID];
    return pid ? pid : pid_of(processes, call->process);
}

bool ms_birth_is_shell(const struct ms_birth *birth)
{
    return birth->call && ms_spawn_class_of(birth->call) == MS_SPAWN_SHELLS;
}

static void add(struct ms_births *births, const struct ms_birth *birth)
{
    births->list = ms_memory_grow(
            births->list, births->count + 1, &births->capacity, sizeof *births->list);
    births->list[births->count++] = *birth;
}

// daemon: the child tells of its parent's call, under the parent's index or its own.
static uint32_t maker_of(const struct ms_processes *processes, const struct ms_spawn *call)
{
    const struct ms_process *writer = ms_process_find(processes, call->process);
    bool is_of_parent = call->number[MS_SPAWN_P_KIND] == MS_SPAWN_DAEMON && writer &&
                        writer->number[MS_PROCESS_PID] == call->number[MS_SPAWN_P_CHILD];
    return is_of_parent ? (uint32_t)writer->parent : call->process;
}

static void collect_call(
        struct ms_births *births, const struct ms_processes *processes, const struct ms_spawn *call)
{
    enum ms_spawn_class class = ms_spawn_class_of(call);
    bool is_daemon = call->number[MS_SPAWN_P_KIND] == MS_SPAWN_DAEMON;
    uint64_t pid = call->number[MS_SPAWN_P_PID];
    struct ms_birth birth = {.start = ms_spawn_start(call), .process = call->process};
    if (!is_daemon && ms_birth_is_foreign(processes, call->process, pid)) {
        birth.child = pid;
        add(births, &birth);
    }
    if (ms_spawn_failed(call))
        return;
    birth.call = call;
    birth.process = maker_of(processes, call);
    birth.child = class == MS_SPAWN_SHELLS ? 0 : call->number[MS_SPAWN_P_CHILD];
    if (class == MS_SPAWN_SHELLS ||
            ((class == MS_SPAWN_FORKS || class == MS_SPAWN_STARTS) && birth.child))
        add(births, &birth);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// Calls before what stands in for one.
static int by_child(const void *a, const void *b)
{
    const struct ms_birth *x = a, *y = b;
    int order = compare(x->process, y->process);
    if (!order)
        order = compare(x->child, y->child);
    if (!order)
        order = compare(x->start, y->start);
    if (!order)
        order = compare(!x->call, !y->call);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

// Takes away what stands in for a call behind a birth of that child.
static void drop_stand_ins(struct ms_births *births)
{
    size_t kept = 0;
    for (size_t i = 0; i < births->count; i++) {
        const struct ms_birth *before = kept ? &births->list[kept - 1] : NULL;
        const struct ms_birth *birth = &births->list[i];
        if (birth->call || !before || before->process != birth->process ||
                before->child != birth->child)
            births->list[kept++] = *birth;
    }
    births->count = kept;
}

static int by_gone(const void *a, const void *b)
{
    const struct ms_child_gone *x = a, *y = b;
    int order = compare(x->process, y->process);
    if (!order)
        order = compare(x->child, y->child);
    return order ? order : compare(x->ticks, y->ticks);
}

static void add_end(struct ms_births *births, size_t *capacity, uint32_t process, uint64_t child,
        uint64_t ticks)
{
    if (!child)
        return;
    births->ends =
            ms_memory_grow(births->ends, births->end_count + 1, capacity, sizeof *births->ends);
    births->ends[births->end_count++] = (struct ms_child_gone){process, child, ticks};
}

// What tells that a child had ended: its own END, if it was a vfork child, and its parent's wait.
static void collect_ends(struct ms_births *births, const struct ms_processes *processes,
        const struct ms_spawns *spawns)
{
    size_t capacity = 0;
    for (size_t i = 0; i < spawns->count; i++) {
        const struct ms_spawn *call = &spawns->list[i];
        if (ms_spawn_class_of(call) == MS_SPAWN_WAITS && !ms_spawn_failed(call))
            add_end(births, &capacity, call->process, call->number[MS_SPAWN_P_CHILD],
                    ms_spawn_finish(call));
    }
    for (size_t i = 0; i < processes->child_end_count; i++) {
        const struct ms_child_end *end = &processes->child_ends[i];
        add_end(births, &capacity, end->process, end->pid, end->ending.ticks);
    }
    if (births->end_count)
        qsort(births->ends, births->end_count, sizeof *births->ends, by_gone);
}

void ms_births_collect(struct ms_births *births, const struct ms_processes *processes,
        const struct ms_spawns *spawns)
{
    births->spawns = spawns;
    collect_ends(births, processes, spawns);
    for (size_t i = 0; i < spawns->count; i++)
        collect_call(births, processes, &spawns->list[i]);
    for (size_t i = 0; i < processes->child_end_count; i++) {
        const struct ms_child_end *end = &processes->child_ends[i];
        if (ms_birth_is_foreign(processes, end->process, end->pid))
            add(births, &(struct ms_birth){.process = end->process,
                                .child = end->pid,
                                .start = end->ending.ticks});
    }
    if (births->count)
        qsort(births->list, births->count, sizeof *births->list, by_child);
    drop_stand_ins(births);
}

void ms_births_free(struct ms_births *births)
{
    free(births->list);
    free(births->ends);
    *births = (struct ms_births){0};
}

// How many births stand before all that are later than the key.
static size_t up_to(
        const struct ms_births *births, uint32_t process, uint64_t child, uint64_t ticks)
{
    size_t low = 0, high = births->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ms_birth *birth = &births->list[middle];
        int order = compare(birth->process, process);
        if (!order)
            order = compare(birth->child, child);
        if (!order)
            order = compare(birth->start, ticks);
        if (order <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Whether a child that was born at `start` is known to have ended before `ticks`: its pid may then
// be another's.
static bool ended_between(const struct ms_births *births, uint32_t process, uint64_t child,
        uint64_t start, uint64_t ticks)
{
    size_t low = 0, high = births->end_count;
    const struct ms_child_gone key = {.process = process, .child = child, .ticks = start};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_gone(&births->ends[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ms_child_gone *end = low < births->end_count ? &births->ends[low] : NULL;
    return end && end->process == process && end->child == child && end->ticks < ticks;
}

struct ms_birth *ms_birth_find(
        const struct ms_births *births, uint32_t process, uint64_t child, uint64_t ticks)
{
    size_t at = child ? up_to(births, process, child, ticks) : 0;
    struct ms_birth *birth = at ? &births->list[at - 1] : NULL;
    if (!birth || birth->process != process || birth->child != child)
        return NULL;
    return ended_between(births, process, child, birth->start, ticks) ? NULL : birth;
}

// The spawn list is in the order of start.
struct ms_birth *ms_birth_find_made(
        const struct ms_births *births, uint32_t process, uint64_t start)
{
    const struct ms_spawns *spawns = births->spawns;
    size_t low = 0, high = spawns->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ms_spawn_start(&spawns->list[middle]) < start)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < spawns->count && i < low + ALIKE_TRIED; i++) {
        const struct ms_spawn *call = &spawns->list[i];
        if (ms_spawn_start(call) == start && call->process == process &&
                ms_spawn_class_of(call) == MS_SPAWN_FORKS)
            return ms_birth_find(births, process, call->number[MS_SPAWN_P_CHILD], start);
    }
    return NULL;
}

// popen returns when its child has hardly begun; the others wait for theirs. wordexp may make many.
static bool can_have_made(const struct ms_birth *birth, uint64_t ticks)
{
    uint64_t kind = birth->call->number[MS_SPAWN_P_KIND];
    if (kind != MS_SPAWN_POPEN && ms_spawn_finish(birth->call) < ticks)
        return false;
    return kind == MS_SPAWN_WORDEXP || !birth->image;
}

// Whether an argument is the command of a call, which may be cut.
static bool is_command(const char *argument, const struct ms_spawn *call)
{
    bool is_cut = call->argv_size == MS_SPAWN_ARGV_MAX;
    return is_cut ? strncmp(argument, call->argv, MS_SPAWN_ARGV_MAX - 1) == 0
                  : strcmp(argument, call->argv) == 0;
}

enum fit { FIT_NOT, FIT_MAYBE, FIT_WELL };

// What an image's arguments say when it is a shell: sh -c COMMAND.
struct command {
    const char *last; // argument; NULL: not told
    bool is_of_shell;
};

static struct command command_of(const struct ms_process *image)
{
    struct command command = {.last = ms_process_argument(image, NULL)};
    const char *argument = command.last;
    while (argument && (argument = ms_process_argument(image, argument))) {
        command.is_of_shell |= strcmp(argument, "-c") == 0;
        command.last = argument;
    }
    return command;
}

// Of wordexp the shell sees a part of the words; a shell that is not traced may have become the
// program itself, whose arguments are others.
static enum fit fit_of(const struct command *command, const struct ms_spawn *call)
{
    if (!command->last || !call->argv || call->number[MS_SPAWN_P_KIND] == MS_SPAWN_WORDEXP)
        return FIT_MAYBE;
    if (is_command(command->last, call))
        return FIT_WELL;
    return command->is_of_shell ? FIT_NOT : FIT_MAYBE;
}

struct ms_birth *ms_birth_find_shell(const struct ms_births *births,
        const struct ms_processes *processes, uint32_t process, const struct ms_process *image)
{
    uint64_t ticks = image->number[MS_PROCESS_START_TICKS];
    size_t at = up_to(births, process, 0, ticks);
    struct ms_birth *best = NULL;
    const struct command command = command_of(image);
    for (unsigned tries = 0; at && tries < SHELLS_TRIED; tries++, at--) {
        struct ms_birth *birth = &births->list[at - 1];
        if (birth->process != process || birth->child)
            break;
        if (ms_birth_caller_pid(processes, birth->call) != image->number[MS_PROCESS_PPID] ||
                !can_have_made(birth, ticks))
            continue;
        enum fit fit = fit_of(&command, birth->call);
        if (fit == FIT_WELL)
            return birth;
        if (fit == FIT_MAYBE && !best)
            best = birth;
    }
    return best;
}
