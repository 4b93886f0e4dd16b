// SPDX-License-Identifier: MIT
// The process table. While the file is scanned processes are noted in the order of their blocks;
// linking then sorts them. A trace whose first page is damaged may hold blocks of processes without
// a PROCESS block; they get an entry that is not `known`.
#include "process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "property.h"

// The longest textual property that is kept.
#define TEXT_MAX MS_ARGV_MAX
// How far a module is searched among the parents of a process: forks of forks are rarely as deep,
// and a trace may make a process its own ancestor.
#define GENERATIONS 256
// A tag that has no meaning.
#define NOT_USED 6

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

static bool is_number(unsigned tag)
{
    return tag >= MS_PROCESS_PID && tag <= MS_PROCESS_MADE && tag != NOT_USED && !is_text(tag);
}

static bool is_end_number(unsigned tag)
{
    return tag == MS_END_HOW || tag == MS_END_STATUS || tag == MS_END_PID;
}

static void read_property(struct ms_process *process, unsigned tag, struct ms_cursor *value)
{
    if (tag == MS_PROCESS_ARGV)
        process->argv_size = ms_property_keep_bytes(&process->text[tag], value, TEXT_MAX);
    else if (is_text(tag))
        ms_property_keep_text(&process->text[tag], value, TEXT_MAX);
    else
        process->number[tag] = ms_get_varint(value);
}

bool ms_process_read(struct ms_process *process, uint64_t ticks, struct ms_cursor in)
{
    struct ms_cursor value;
    unsigned tag;
    if (!ms_property_is_sound(in, is_number))
        return false;
    process->known = true;
    while (ms_property_next(&in, &tag, &value)) {
        if ((!is_text(tag) && !is_number(tag)) || ticks < process->told[tag])
            continue;
        read_property(process, tag, &value);
        process->told[tag] = ticks;
        process->has |= UINT32_C(1) << tag;
    }
    process->parent = ms_property_narrow(process->number[MS_PROCESS_PARENT], 0);
    return true;
}

void ms_process_clear(struct ms_process *process)
{
    for (unsigned tag = 0; tag < MS_PROCESS_TAGS; tag++)
        if (!(process->borrows >> tag & 1))
            free(process->text[tag]);
    while (process->modules) {
        struct ms_module_set *next = process->modules->next;
        free(process->modules);
        process->modules = next;
    }
}

bool ms_process_read_end(struct ms_end_block *end, struct ms_cursor in)
{
    struct ms_cursor value;
    unsigned tag;
    *end = (struct ms_end_block){0};
    if (!ms_property_is_sound(in, is_end_number))
        return false;
    while (ms_property_next(&in, &tag, &value)) {
        if (tag == MS_END_HOW) {
            end->how = ms_property_narrow(ms_get_varint(&value), UINT32_MAX);
        } else if (tag == MS_END_STATUS) {
            end->status = ms_get_varint(&value);
            end->has_status = true;
        } else if (tag == MS_END_PID) {
            end->pid = ms_get_varint(&value);
        }
    }
    return true;
}

static enum ms_fate fate_of(uint32_t how)
{
    switch (how) {
    case MS_END_EXIT:
    case MS_END_QUICK_EXIT:
        return MS_FATE_EXIT;
    case MS_END_EXIT_NOW:
    case MS_END_DAEMON:
        return MS_FATE_EXIT_NOW;
    case MS_END_SIGNAL:
        return MS_FATE_SIGNAL;
    default:
        return MS_FATE_UNKNOWN;
    }
}

static void note_child_end(struct ms_processes *processes, const struct ms_child_end *end)
{
    processes->child_ends = ms_memory_grow(processes->child_ends, processes->child_end_count + 1,
            &processes->child_end_capacity, sizeof *processes->child_ends);
    processes->child_ends[processes->child_end_count++] = *end;
}

static bool note_end(struct ms_processes *processes, struct ms_process *process,
        const struct ms_block *block, struct ms_cursor in)
{
    struct ms_end_block end;
    if (!ms_process_read_end(&end, in))
        return false;
    const struct ms_ending ending = {fate_of(end.how), end.has_status, end.status, block->ticks};
    if (end.pid) {
        note_child_end(processes, &(struct ms_child_end){process->index, end.pid, ending});
    } else if (block->ticks >= process->ending.ticks) {
        process->ending = ending;
        process->how = end.how;
    }
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
        return ms_process_read(process, block->ticks, in);
    if (block->type == MS_BLOCK_END)
        return note_end(processes, process, block, in);
    return block->type != MS_BLOCK_MODULES || note_modules(processes, process, in);
}

static int by_index(const void *a, const void *b)
{
    const struct ms_process *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

struct ms_process *ms_process_find(const struct ms_processes *processes, uint32_t index)
{
    const struct ms_process key = {.index = index};
    if (!processes->count)
        return NULL;
    return bsearch(&key, processes->list, processes->count, sizeof key, by_index);
}

// Whether a child has it from its parent when its own blocks do not say.
static bool is_inherited(unsigned tag)
{
    switch (tag) {
    case MS_PROCESS_PID:
    case MS_PROCESS_PPID:
    case MS_PROCESS_PARENT:
    case MS_PROCESS_ORIGIN:
    case MS_PROCESS_START_TICKS:
    case MS_PROCESS_SETUP_NS:
    case MS_PROCESS_EARLY_CALLS:
    case MS_PROCESS_ANCESTOR:
    case MS_PROCESS_MADE:
        return false;
    default:
        return is_text(tag) || is_number(tag);
    }
}

// Texts are shared: a trace must not make one of them as many as it has processes.
static void inherit(struct ms_process *process, const struct ms_process *parent)
{
    for (unsigned tag = 0; tag < MS_PROCESS_TAGS; tag++) {
        if (!is_inherited(tag) || (process->has >> tag & 1))
            continue;
        process->number[tag] = parent->number[tag];
        process->text[tag] = parent->text[tag];
        process->borrows |= UINT32_C(1) << tag;
        if (tag == MS_PROCESS_ARGV)
            process->argv_size = parent->argv_size;
        if (tag == MS_PROCESS_FLAGS)
            process->number[tag] &= ~(uint64_t)MS_PROCESS_LATE; // says something of one process
    }
}

// Parents are numbered before their children, and so have inherited before them.
static void inherit_all(struct ms_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct ms_process *process = &processes->list[i];
        const struct ms_process *parent = NULL;
        if (process->known && process->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_FORK &&
                process->parent < process->index)
            parent = ms_process_find(processes, process->parent);
        if (parent)
            inherit(process, parent);
    }
}

void ms_process_link(struct ms_processes *processes)
{
    if (processes->count)
        qsort(processes->list, processes->count, sizeof *processes->list, by_index);
    free(processes->hash);
    processes->hash = NULL;
    processes->hash_size = 0;
    inherit_all(processes);
}

const struct ms_module *ms_process_module(
        const struct ms_processes *processes, const struct ms_process *process, uint64_t address)
{
    for (unsigned steps = 0; process && steps < GENERATIONS; steps++) {
        const struct ms_module *module = ms_modules_find(process->modules, address);
        if (module)
            return module;
        if (process->number[MS_PROCESS_ORIGIN] != MS_ORIGIN_FORK)
            return NULL;
        process = ms_process_find(processes, process->parent);
    }
    return NULL;
}

bool ms_process_locate(const struct ms_processes *processes, const struct ms_process *process,
        uint64_t address, char *name, size_t size)
{
    const struct ms_module *module =
            process ? ms_process_module(processes, process, address) : NULL;
    if (module)
        snprintf(name, size, "%s+0x%" PRIx64, ms_objects_path(&processes->objects, module->object),
                address - module->start + module->offset);
    else
        snprintf(name, size, "0x%" PRIx64, address);
    return module != NULL;
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

const char *ms_fate_name(enum ms_fate fate)
{
    switch (fate) {
    case MS_FATE_OPEN:
        return "open";
    case MS_FATE_EXIT:
        return "exit";
    case MS_FATE_EXIT_NOW:
        return "_exit";
    case MS_FATE_SIGNAL:
        return "signal";
    case MS_FATE_KILLED:
        return "killed";
    case MS_FATE_EXEC:
        return "exec";
    case MS_FATE_UNKNOWN:
        break;
    }
    return "unknown";
}

bool ms_ending_tells_status(const struct ms_ending *ending)
{
    return ending->has_status && ending->fate != MS_FATE_OPEN && ending->fate != MS_FATE_EXEC;
}

void ms_process_free(struct ms_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++)
        ms_process_clear(&processes->list[i]);
    free(processes->list);
    free(processes->hash);
    free(processes->child_ends);
    ms_objects_free(&processes->objects);
    *processes = (struct ms_processes){0};
}
