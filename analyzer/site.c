// SPDX-License-Identifier: MIT
// The table of call sites: a chained hash by (object, offset) over a growing array, with a
// direct-mapped cache by address in front, since a program allocates from few places most of the
// time. Memory grows with the number of distinct sites.
#include "site.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

void ms_site_open(struct ms_sites *sites, const struct ms_processes *processes)
{
    sites->processes = processes;
    sites->list = ms_memory_grow(NULL, 1, &sites->capacity, sizeof *sites->list);
    sites->list[0] = (struct ms_site){0};
    sites->count = 1;
}

void ms_site_enter(struct ms_sites *sites, const struct ms_process *process)
{
    sites->process = process;
    memset(sites->numbers, 0, sizeof sites->numbers);
}

static size_t hash_of(const struct ms_sites *sites, uint32_t object, uint64_t offset)
{
    uint64_t hash = (offset ^ (uint64_t)object << 48) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (sites->hash_size - 1);
}

static void hash_grow(struct ms_sites *sites)
{
    free(sites->hash);
    sites->hash_size = sites->hash_size ? sites->hash_size * 2 : 1024;
    sites->hash = ms_memory_zeroed(sites->hash_size, sizeof *sites->hash);
    for (uint32_t i = 1; i < sites->count; i++) {
        struct ms_site *site = &sites->list[i];
        size_t at = hash_of(sites, site->object, site->offset);
        site->next = sites->hash[at];
        sites->hash[at] = i;
    }
}

static uint32_t find_or_add(struct ms_sites *sites, uint32_t object, uint64_t offset)
{
    if (sites->count >= sites->hash_size)
        hash_grow(sites);
    size_t at = hash_of(sites, object, offset);
    for (uint32_t i = sites->hash[at]; i; i = sites->list[i].next)
        if (sites->list[i].offset == offset && sites->list[i].object == object)
            return i;
    sites->list =
            ms_memory_grow(sites->list, sites->count + 1, &sites->capacity, sizeof *sites->list);
    sites->list[sites->count] =
            (struct ms_site){.object = object, .offset = offset, .next = sites->hash[at]};
    return sites->hash[at] = (uint32_t)sites->count++;
}

uint32_t ms_site_resolve(struct ms_sites *sites, uint64_t address)
{
    const struct ms_module *module =
            sites->process ? ms_process_module(sites->processes, sites->process, address) : NULL;
    uint32_t number =
            module ? find_or_add(sites, module->object, address - module->start + module->offset)
                   : find_or_add(sites, 0, address);
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    sites->cached[at] = address;
    sites->numbers[at] = number;
    return number;
}

void ms_site_name(const struct ms_sites *sites, const struct ms_site *site, char *text, size_t size)
{
    const char *path = ms_objects_path(&sites->processes->objects, site->object);
    if (path)
        snprintf(text, size, "%s+0x%" PRIx64, path, site->offset);
    else
        snprintf(text, size, "0x%" PRIx64, site->offset);
}

void ms_site_free(struct ms_sites *sites)
{
    for (size_t i = 1; i < sites->count; i++)
        free(sites->list[i].mmap_sizes);
    free(sites->list);
    free(sites->hash);
}
