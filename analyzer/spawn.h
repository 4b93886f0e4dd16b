// SPDX-License-Identifier: MIT
// The calls that made, replaced or awaited processes: SPAWN blocks decoded (FORMAT.md section 8.6)
// and kept in the order of their start. How they hang together is family.h's matter.
#ifndef MEMSPY_ANALYZER_SPAWN_H
#define MEMSPY_ANALYZER_SPAWN_H

#include <memspy/format.h>
#include <memspy/spawn.h>
#include <memspy/wire.h>

#define MS_SPAWN_TAGS 32

// One call. A number that was not told is 0 and has no bit in `has`; ask ms_spawn_has where 0 and
// unknown differ. Texts are NULL when they were not told.
struct ms_spawn {
    uint32_t process;               // index of the process that wrote it
    uint32_t has;                   // bit (1 << tag): the block has that property
    uint64_t ticks;                 // the clock when the block was written
    uint64_t number[MS_SPAWN_TAGS]; // by enum ms_spawn_property
    char *path;
    char *argv;       // each argument with a terminating 0, and a 0 behind the last
    size_t argv_size; // bytes of it
};

// `list` is in the order of ms_spawn_start once linked. An exec that was announced and then taken
// back is one record, with errno.
struct ms_spawns {
    struct ms_spawn *list;
    size_t count;
    size_t capacity;
};

// Decodes a SPAWN payload; ms_spawn_clear frees what it keeps. Returns false, and keeps nothing,
// when it is malformed.
bool ms_spawn_read(struct ms_spawn *spawn, const struct ms_block *block, struct ms_cursor payload);
void ms_spawn_clear(struct ms_spawn *spawn);

// Adds what the block tells; kinds of a later format are left out. Returns false when it is
// malformed.
bool ms_spawns_note(
        struct ms_spawns *spawns, const struct ms_block *block, struct ms_cursor payload);

// Orders the list, after the last was noted; then pointers into it are stable.
void ms_spawns_link(struct ms_spawns *spawns);
void ms_spawns_free(struct ms_spawns *spawns);

MS_INLINE bool ms_spawn_has(const struct ms_spawn *spawn, unsigned tag)
{
    return spawn->has >> tag & 1;
}

MS_INLINE enum ms_spawn_class ms_spawn_class_of(const struct ms_spawn *spawn)
{
    return ms_spawn_class((unsigned)spawn->number[MS_SPAWN_P_KIND]);
}

// "fork", "execvp"; NULL for a kind of a later format.
MS_INLINE const char *ms_spawn_name_of(const struct ms_spawn *spawn)
{
    return ms_spawn_name((unsigned)spawn->number[MS_SPAWN_P_KIND]);
}

// An exec without errno: see struct ms_exec for whether it happened.
MS_INLINE bool ms_spawn_failed(const struct ms_spawn *spawn)
{
    return ms_spawn_has(spawn, MS_SPAWN_P_ERRNO);
}

// The clock before the call; when the block was written if that was not told.
MS_INLINE uint64_t ms_spawn_start(const struct ms_spawn *spawn)
{
    return ms_spawn_has(spawn, MS_SPAWN_P_START) ? spawn->number[MS_SPAWN_P_START] : spawn->ticks;
}

// The clock after it, as far as that is known; never before its start.
uint64_t ms_spawn_finish(const struct ms_spawn *spawn);

// The clock when the program asked for it: of an exec with a search of PATH when that began.
uint64_t ms_spawn_entry(const struct ms_spawn *spawn);

#endif
