// SPDX-License-Identifier: MIT
// The list is noted in file order. Linking sorts it by start and makes one record of the two that
// tell of a failed exec:
//
//     announced  kind path argv gap …        \  same process, pid and start
//     taken back kind errno cost             /  -> kind path argv gap … errno cost
//
// Texts are cut to what a writer may write, so that a record's memory is bounded whatever the
// payload unpacks to.
#include "spawn.h"

#include <stdlib.h>

#include "memory.h"
#include "property.h"

static bool is_text(unsigned tag)
{
    switch (tag) {
#define SPAWN_IS_TEXT(name, number, key, is_text)                                                  \
    case number:                                                                                   \
        return is_text;
        MS_SPAWN_PROPERTIES(SPAWN_IS_TEXT)
#undef SPAWN_IS_TEXT
    default:
        return false;
    }
}

static bool is_number(unsigned tag)
{
    switch (tag) {
#define SPAWN_IS_NUMBER(name, number, key, is_text)                                                \
    case number:                                                                                   \
        return !is_text;
        MS_SPAWN_PROPERTIES(SPAWN_IS_NUMBER)
#undef SPAWN_IS_NUMBER
    default:
        return false;
    }
}

// Numbers beyond 32 bits are the name of no kind.
static void take_number(struct ms_spawn *spawn, unsigned tag, struct ms_cursor value)
{
    uint64_t number = ms_get_varint(&value);
    if (tag == MS_SPAWN_P_KIND)
        number = ms_property_narrow(number, 0);
    spawn->number[tag] = number;
}

bool ms_spawn_read(struct ms_spawn *spawn, const struct ms_block *block, struct ms_cursor in)
{
    struct ms_cursor value;
    unsigned tag;
    *spawn = (struct ms_spawn){.process = block->process, .ticks = block->ticks};
    if (!ms_property_is_sound(in, is_number))
        return false;
    while (ms_property_next(&in, &tag, &value)) {
        if (tag == MS_SPAWN_P_PATH)
            ms_property_keep_text(&spawn->path, &value, MS_SPAWN_PATH_MAX);
        else if (tag == MS_SPAWN_P_ARGV)
            spawn->argv_size = ms_property_keep_bytes(&spawn->argv, &value, MS_SPAWN_ARGV_MAX);
        else if (is_number(tag))
            take_number(spawn, tag, value);
        if (is_number(tag) || is_text(tag))
            spawn->has |= UINT32_C(1) << tag;
    }
    return true;
}

void ms_spawn_clear(struct ms_spawn *spawn)
{
    free(spawn->path);
    free(spawn->argv);
    *spawn = (struct ms_spawn){0};
}

bool ms_spawns_note(
        struct ms_spawns *spawns, const struct ms_block *block, struct ms_cursor payload)
{
    struct ms_spawn spawn;
    if (!ms_spawn_read(&spawn, block, payload))
        return false;
    if (ms_spawn_class_of(&spawn) == MS_SPAWN_UNKNOWN) {
        ms_spawn_clear(&spawn);
        return true;
    }
    spawns->list = ms_memory_grow(
            spawns->list, spawns->count + 1, &spawns->capacity, sizeof *spawns->list);
    spawns->list[spawns->count++] = spawn;
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// By start; of one start those of one caller together, and what it announced before what came of
// it.
static int by_start(const void *a, const void *b)
{
    const struct ms_spawn *x = a, *y = b;
    int order = compare(ms_spawn_start(x), ms_spawn_start(y));
    if (!order)
        order = compare(x->process, y->process);
    if (!order)
        order = compare(x->number[MS_SPAWN_P_PID], y->number[MS_SPAWN_P_PID]);
    if (!order)
        order = compare(ms_spawn_class_of(x), ms_spawn_class_of(y));
    if (!order)
        order = compare(ms_spawn_failed(x), ms_spawn_failed(y));
    return order ? order : compare(x->ticks, y->ticks);
}

static bool takes_back(const struct ms_spawn *announced, const struct ms_spawn *spawn)
{
    return ms_spawn_class_of(announced) == MS_SPAWN_EXECS && !ms_spawn_failed(announced) &&
           ms_spawn_class_of(spawn) == MS_SPAWN_EXECS && ms_spawn_failed(spawn) &&
           ms_spawn_start(announced) == ms_spawn_start(spawn) &&
           announced->process == spawn->process &&
           announced->number[MS_SPAWN_P_PID] == spawn->number[MS_SPAWN_P_PID];
}

static void take_text(char **to, char **from)
{
    if (*to)
        return;
    *to = *from;
    *from = NULL;
}

// Adds to a record what only another one of the same call tells, and clears that.
static void merge(struct ms_spawn *spawn, struct ms_spawn *other)
{
    for (unsigned tag = 0; tag < MS_SPAWN_TAGS; tag++)
        if (other->has & ~spawn->has & UINT32_C(1) << tag)
            spawn->number[tag] = other->number[tag];
    spawn->has |= other->has;
    if (!spawn->argv)
        spawn->argv_size = other->argv_size;
    take_text(&spawn->path, &other->path);
    take_text(&spawn->argv, &other->argv);
    ms_spawn_clear(other);
}

void ms_spawns_link(struct ms_spawns *spawns)
{
    size_t kept = 0;
    if (spawns->count)
        qsort(spawns->list, spawns->count, sizeof *spawns->list, by_start);
    for (size_t i = 0; i < spawns->count; i++) {
        while (kept && takes_back(&spawns->list[kept - 1], &spawns->list[i]))
            merge(&spawns->list[i], &spawns->list[--kept]);
        spawns->list[kept++] = spawns->list[i];
    }
    spawns->count = kept;
}

void ms_spawns_free(struct ms_spawns *spawns)
{
    for (size_t i = 0; i < spawns->count; i++)
        ms_spawn_clear(&spawns->list[i]);
    free(spawns->list);
    *spawns = (struct ms_spawns){0};
}

uint64_t ms_spawn_finish(const struct ms_spawn *spawn)
{
    uint64_t start = ms_spawn_start(spawn), cost = spawn->number[MS_SPAWN_P_COST];
    return cost <= UINT64_MAX - start ? start + cost : UINT64_MAX;
}

uint64_t ms_spawn_entry(const struct ms_spawn *spawn)
{
    bool has_search = ms_spawn_has(spawn, MS_SPAWN_P_ENTRY);
    return has_search ? spawn->number[MS_SPAWN_P_ENTRY] : ms_spawn_start(spawn);
}
