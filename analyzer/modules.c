// SPDX-License-Identifier: MIT
// Module sets are small sorted arrays, searched by halves; lookups are few, because callers are
// cached (site.c). Object paths are numbered so that the same library in many processes is one
// object and call sites of all processes can be compared by number and offset.
#include "modules.h"

#include <stdlib.h>

#include "memory.h"

// The most mappings of one block that are kept: the kernel's own limit (vm.max_map_count).
#define MAPPINGS_MAX   65536u
#define PATH_MAX_BYTES 4096u

static size_t hash_bytes(const uint8_t *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (size_t)hash;
}

static uint32_t *place_of(const struct ms_objects *objects, const void *path, size_t size)
{
    size_t at = hash_bytes(path, size) & (objects->hash_size - 1);
    while (objects->hash[at]) {
        const char *known = objects->paths[objects->hash[at] - 1];
        if (strlen(known) == size && memcmp(known, path, size) == 0)
            break;
        at = (at + 1) & (objects->hash_size - 1);
    }
    return &objects->hash[at];
}

static void hash_grow(struct ms_objects *objects)
{
    free(objects->hash);
    objects->hash_size = objects->hash_size ? objects->hash_size * 2 : 64;
    objects->hash = ms_memory_zeroed(objects->hash_size, sizeof *objects->hash);
    for (size_t i = 0; i < objects->count; i++)
        *place_of(objects, objects->paths[i], strlen(objects->paths[i])) = (uint32_t)i + 1;
}

uint32_t ms_objects_number(struct ms_objects *objects, const void *path, size_t size)
{
    const void *zero = size ? memchr(path, 0, size) : NULL;
    if (zero)
        size = (size_t)((const char *)zero - (const char *)path);
    if (size > PATH_MAX_BYTES)
        size = PATH_MAX_BYTES;
    if (2 * (objects->count + 1) > objects->hash_size)
        hash_grow(objects);
    uint32_t *place = place_of(objects, path, size);
    if (*place)
        return *place;
    objects->paths = ms_memory_grow(
            objects->paths, objects->count + 1, &objects->capacity, sizeof *objects->paths);
    objects->paths[objects->count++] = ms_memory_text(path, size);
    return *place = (uint32_t)objects->count;
}

const char *ms_objects_path(const struct ms_objects *objects, uint32_t number)
{
    return number && number <= objects->count ? objects->paths[number - 1] : NULL;
}

void ms_objects_free(struct ms_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        free(objects->paths[i]);
    free(objects->paths);
    free(objects->hash);
    *objects = (struct ms_objects){0};
}

static int by_start(const void *a, const void *b)
{
    const struct ms_module *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

// One mapping, its start relative to *end, which becomes its own end.
static bool parse_mapping(
        struct ms_objects *objects, struct ms_cursor *in, uint64_t *end, struct ms_module *module)
{
    module->start = *end + ms_get_varint(in);
    in->bad |= __builtin_add_overflow(module->start, ms_get_varint(in), &module->end);
    *end = module->end;
    module->offset = ms_get_varint(in);
    uint64_t size = ms_get_varint(in);
    const uint8_t *path = ms_get_bytes(in, size);
    if (in->bad)
        return false;
    module->object = ms_objects_number(objects, path, (size_t)size);
    return true;
}

struct ms_module_set *ms_modules_parse(struct ms_objects *objects, struct ms_cursor *in)
{
    uint64_t count = ms_get_varint(in);
    // A mapping takes at least four bytes: a count that cannot be true takes no memory.
    in->bad |= count > (uint64_t)(in->end - in->at) / 4;
    count = count < MAPPINGS_MAX ? count : MAPPINGS_MAX;
    if (in->bad || count == 0)
        return NULL;
    struct ms_module_set *set =
            ms_memory_zeroed(1, sizeof *set + (size_t)count * sizeof set->modules[0]);
    uint64_t end = 0;
    while (set->count < count && parse_mapping(objects, in, &end, &set->modules[set->count]))
        set->count++;
    if (set->count < count) {
        free(set);
        return NULL;
    }
    qsort(set->modules, set->count, sizeof set->modules[0], by_start);
    return set;
}

static const struct ms_module *find_in(const struct ms_module_set *set, uint64_t address)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->modules[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < set->modules[low - 1].end ? &set->modules[low - 1] : NULL;
}

const struct ms_module *ms_modules_find(const struct ms_module_set *sets, uint64_t address)
{
    for (; sets; sets = sets->next) {
        const struct ms_module *module = find_in(sets, address);
        if (module)
            return module;
    }
    return NULL;
}
