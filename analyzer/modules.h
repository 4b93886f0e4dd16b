// SPDX-License-Identifier: MIT
// Which object an address of a process belongs to: the executable mappings that the trace tells
// of, and the paths of the objects, each kept once for all processes.
#ifndef MEMSPY_ANALYZER_MODULES_H
#define MEMSPY_ANALYZER_MODULES_H

#include <memspy/wire.h>

// The paths of objects. An object's number is from 1; 0 is no object.
struct ms_objects {
    char **paths; // paths[number - 1]
    size_t count;
    size_t capacity;
    uint32_t *hash; // open addressing, numbers
    size_t hash_size;
};

// An executable mapping: [start, end) holds the object from `offset` on.
struct ms_module {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint32_t object;
};

// What one MODULES block told; sets of a process form a list, the latest first.
struct ms_module_set {
    struct ms_module_set *next;
    size_t count;
    struct ms_module modules[]; // by start
};

// The number of the object with that path, which is copied when it is new.
uint32_t ms_objects_number(struct ms_objects *objects, const void *path, size_t size);

// The path of an object; NULL for 0.
const char *ms_objects_path(const struct ms_objects *objects, uint32_t number);

void ms_objects_free(struct ms_objects *objects);

// Reads a MODULES payload into a new set, which is the caller's to free. Returns NULL when there is
// no mapping at all and, with in->bad, when it is malformed.
struct ms_module_set *ms_modules_parse(struct ms_objects *objects, struct ms_cursor *in);

// The mapping of `address` in the latest of the sets that has one; NULL if none has.
const struct ms_module *ms_modules_find(const struct ms_module_set *sets, uint64_t address);

#endif
