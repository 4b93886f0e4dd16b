// SPDX-License-Identifier: MIT
// The process table. While the file is scanned processes are noted in the order of their blocks;
// linking then sorts them and finds what no single block says:
//
//     initial 1 --exec--> 2 (same pid and birth, origin exec; its parent is 1's parent)
//        |  fork
//        +--> 3 (PARENT 1)
//
// A trace whose first page is damaged may hold blocks of processes without a PROCESS block; they
// get an entry that is not `known`.
#include "process.h"

#include <stdlib.h>

#include "memory.h"

// The longest textual property that is kept.
#define TEXT_MAX 65536u

// The place of an index in the hash, which maps it to its position plus one.
static uint32_t *place_of(struct ms_processes *processes, uint32_t index)
{
    size_t mask = processes->hash_size - 1;
    size_t at = (index * UINT32_C(0x9e3779b1)) & mask;
    while (processes->hash[at] && processes->list[processes->hash[at] - 1].index != index)
        at = (at + 1) & mask;
    return &processes->hash[at];
}

static void hash_grow(struct ms_processes *processes)
{
    free(processes->hash);
    processes->hash_size = processes->hash_size ? processes->hash_size * 2 : 64;
    processes->hash = ms_memory_zeroed(processes->hash_size, sizeof *processes->hash);
    for (size_t i = 0; i < processes->count; i++)
        *place_of(processes, processes->list[i].index) = (uint32_t)i + 1;
}

static struct ms_process *find_or_add(struct ms_processes *processes, uint32_t index)
{
    if (2 * (processes->count + 1) > processes->hash_size)
        hash_grow(processes);
    uint32_t *place = place_of(processes, index);
    if (*place)
        return &processes->list[*place - 1];
    processes->list = ms_memory_grow(
            processes->list, processes->count + 1, &processes->capacity, sizeof *processes->list);
    struct ms_process *process = &processes->list[processes->count];
    *process = (struct ms_process){.index = index};
    *place = (uint32_t)++processes->count;
    return process;
}

static bool is_text(unsigned tag)
{
    return (tag >= MS_PROCESS_EXE && tag <= MS_PROCESS_ALLOCATOR) || tag == MS_PROCESS_MACHINE;
}

// Returns the number of bytes kept.
static size_t keep_bytes(char **to, const struct ms_cursor *value)
{
    size_t size = (size_t)(value->end - value->at);
    size = size < TEXT_MAX ? size : TEXT_MAX;
    free(*to);
    *to = ms_memory_text(value->at, size);
    return size;
}

// A text ends before its first 0; an empty one is none.
static void keep_text(char **to, const struct ms_cursor *value)
{
    keep_bytes(to, value);
    if (**to)
        return;
    free(*to);
    *to = NULL;
}

static bool is_number(unsigned tag)
{
    return tag >= MS_PROCESS_PID && tag <= MS_PROCESS_RESOLUTION_TICKS && !is_text(tag);
}

static bool is_end_number(unsigned tag)
{
    return tag == MS_END_HOW || tag == MS_END_STATUS;
}

// Takes the next property. Returns false at the end and, with in->bad, when it is malformed.
static bool next_property(struct ms_cursor *in, unsigned *tag, struct ms_cursor *value)
{
    if (in->bad || in->at == in->end)
        return false;
    *tag = ms_get_u8(in);
    *value = ms_get_section(in, ms_get_varint(in));
    return !in->bad;
}

// Whether a list of properties can be read to its end, the numbers among them too.
static bool is_sound(struct ms_cursor in, bool (*has_number)(unsigned tag))
{
    struct ms_cursor value;
    unsigned tag;
    while (next_property(&in, &tag, &value)) {
        if (has_number(tag))
            ms_get_varint(&value);
        in.bad |= value.bad;
    }
    return !in.bad;
}

// Numbers that do not fit are no index and no name of a way to end.
static uint32_t narrow(uint64_t value, uint32_t otherwise)
{
    return value <= UINT32_MAX ? (uint32_t)value : otherwise;
}

static bool note_process(struct ms_process *process, struct ms_cursor in)
{
    struct ms_cursor value;
    unsigned tag;
    if (!is_sound(in, is_number))
        return false;
    process->known = true;
    while (next_property(&in, &tag, &value)) {
        if (tag == MS_PROCESS_ARGV)
            process->argv_size = keep_bytes(&process->text[tag], &value);
        else if (is_text(tag))
            keep_text(&process->text[tag], &value);
        else if (is_number(tag))
            process->number[tag] = ms_get_varint(&value);
    }
    process->parent = narrow(process->number[MS_PROCESS_PARENT], 0);
    return true;
}

void ms_process_read_end(struct ms_process *process, struct ms_cursor in)
{
    struct ms_cursor value;
    unsigned tag;
    while (next_property(&in, &tag, &value)) {
        if (tag == MS_END_HOW) {
            process->how = narrow(ms_get_varint(&value), UINT32_MAX);
        } else if (tag == MS_END_STATUS) {
            process->status = ms_get_varint(&value);
            process->has_status = true;
        } else if (tag == MS_END_PATH) {
            keep_text(&process->end_path, &value);
        }
    }
}

static bool note_end(struct ms_process *process, const struct ms_block *block, struct ms_cursor in)
{
    if (!is_sound(in, is_end_number))
        return false;
    if (block->ticks < process->end_ticks)
        return true;
    process->end_ticks = block->ticks;
    ms_process_read_end(process, in);
    if (process->how == MS_END_EXEC_FAILED)
        process->how = 0;
    return true;
}

static bool note_modules(
        struct ms_processes *processes, struct ms_process *process, struct ms_cursor in)
{
    struct ms_module_set *set = ms_modules_parse(&processes->objects, &in);
    if (!set)
        return !in.bad;
    set->next = process->modules;
    process->modules = set;
    return true;
}

bool ms_process_note(
        struct ms_processes *processes, const struct ms_block *block, struct ms_cursor in)
{
    struct ms_process *process = find_or_add(processes, block->process);
    if (block->ticks > process->last_ticks)
        process->last_ticks = block->ticks;
    if (block->type == MS_BLOCK_PROCESS)
        return note_process(process, in);
    if (block->type == MS_BLOCK_END)
        return note_end(process, block, in);
    return block->type != MS_BLOCK_MODULES || note_modules(processes, process, in);
}

static int by_index(const void *a, const void *b)
{
    const struct ms_process *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

// By task, and the images of one task in their order.
static int by_task(const void *a, const void *b)
{
    const struct ms_process *x = *(struct ms_process *const *)a;
    const struct ms_process *y = *(struct ms_process *const *)b;
    static const unsigned keys[] = {MS_PROCESS_PID, MS_PROCESS_BIRTH};
    for (unsigned i = 0; i < 2; i++)
        if (x->number[keys[i]] != y->number[keys[i]])
            return x->number[keys[i]] < y->number[keys[i]] ? -1 : 1;
    return by_index(x, y);
}

static bool is_same_task(const struct ms_process *a, const struct ms_process *b)
{
    return a->known && b->known && a->number[MS_PROCESS_PID] == b->number[MS_PROCESS_PID] &&
           a->number[MS_PROCESS_BIRTH] == b->number[MS_PROCESS_BIRTH];
}

static void link_exec(struct ms_processes *processes)
{
    struct ms_process **tasks = ms_memory_zeroed(processes->count, sizeof *tasks);
    for (size_t i = 0; i < processes->count; i++)
        tasks[i] = &processes->list[i];
    qsort(tasks, processes->count, sizeof *tasks, by_task);
    for (size_t i = 1; i < processes->count; i++) {
        struct ms_process *before = tasks[i - 1], *process = tasks[i];
        if (process->number[MS_PROCESS_ORIGIN] != MS_ORIGIN_EXEC || !is_same_task(before, process))
            continue;
        before->successor = process->index;
        process->parent = before->parent;
    }
    free(tasks);
}

void ms_process_link(struct ms_processes *processes)
{
    if (processes->count)
        qsort(processes->list, processes->count, sizeof *processes->list, by_index);
    free(processes->hash);
    processes->hash = NULL;
    processes->hash_size = 0;
    link_exec(processes);
}

struct ms_process *ms_process_find(const struct ms_processes *processes, uint32_t index)
{
    const struct ms_process key = {.index = index};
    if (!processes->count)
        return NULL;
    return bsearch(&key, processes->list, processes->count, sizeof key, by_index);
}

const struct ms_module *ms_process_module(
        const struct ms_processes *processes, const struct ms_process *process, uint64_t address)
{
    // A damaged trace may make a process its own ancestor: as many steps as there are processes.
    for (size_t steps = 0; process && steps <= processes->count; steps++) {
        const struct ms_module *module = ms_modules_find(process->modules, address);
        if (module)
            return module;
        if (process->number[MS_PROCESS_ORIGIN] != MS_ORIGIN_FORK)
            return NULL;
        process = ms_process_find(processes, process->parent);
    }
    return NULL;
}

const char *ms_process_argument(const struct ms_process *process, const char *before)
{
    const char *first = process->text[MS_PROCESS_ARGV];
    const char *next = before ? before + strlen(before) + 1 : first;
    return first && next < first + process->argv_size ? next : NULL;
}

const char *ms_process_origin(const struct ms_process *process)
{
    switch (process->number[MS_PROCESS_ORIGIN]) {
    case MS_ORIGIN_INITIAL:
        return "initial";
    case MS_ORIGIN_FORK:
        return "fork";
    case MS_ORIGIN_EXEC:
        return "exec";
    default:
        return "unknown";
    }
}

const char *ms_process_end(const struct ms_process *process)
{
    switch (process->how) {
    case MS_END_EXIT:
    case MS_END_QUICK_EXIT:
        return "exit";
    case MS_END_EXIT_NOW:
        return "_exit";
    case MS_END_EXEC:
        return "exec";
    case 0:
        return process->successor ? "exec" : "open";
    default:
        return "unknown";
    }
}

bool ms_process_is_open(const struct ms_process *process)
{
    return process->how == 0 && process->successor == 0;
}

void ms_process_free(struct ms_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct ms_process *process = &processes->list[i];
        for (unsigned tag = 0; tag < sizeof process->text / sizeof process->text[0]; tag++)
            free(process->text[tag]);
        free(process->end_path);
        while (process->modules) {
            struct ms_module_set *next = process->modules->next;
            free(process->modules);
            process->modules = next;
        }
    }
    free(processes->list);
    free(processes->hash);
    ms_objects_free(&processes->objects);
    *processes = (struct ms_processes){0};
}
