// SPDX-License-Identifier: MIT
// The calls that made a child, found by where they were made, the child's pid and the time: a part
// of family.h. Pids are used again within a trace, so that only the time tells children apart.
#ifndef MEMSPY_ANALYZER_BIRTH_H
#define MEMSPY_ANALYZER_BIRTH_H

#include "process.h"
#include "spawn.h"

struct ms_birth {
    uint32_t process; // index of the image in which the call was made
    uint64_t child;   // pid; 0: not told (shells)
    uint64_t start;   // of the call
    const struct ms_spawn
            *call;            // NULL: a vfork child that is known only by what it recorded itself
    struct ms_process *image; // the first one of the child; NULL: none
    struct ms_node *node;     // of the child
};

// A child is known to have ended by then.
struct ms_child_gone {
    uint32_t process; // that awaited it, or in whose memory it ran
    uint64_t child;
    uint64_t ticks;
};

struct ms_births {
    struct ms_birth *list; // by process, child and start
    size_t count;
    size_t capacity;
    struct ms_child_gone *ends; // by process, child and time
    size_t end_count;
    const struct ms_spawns *spawns;
};

// Collects the births that linked processes and spawns tell of.
void ms_births_collect(struct ms_births *births, const struct ms_processes *processes,
        const struct ms_spawns *spawns);
void ms_births_free(struct ms_births *births);

// The birth by the call of class FORKS that this process made at that start.
struct ms_birth *ms_birth_find_made(
        const struct ms_births *births, uint32_t process, uint64_t start);

// The latest birth of that child in that process, not after `ticks`; NULL if there is none, or if
// that child had ended by then.
struct ms_birth *ms_birth_find(
        const struct ms_births *births, uint32_t process, uint64_t child, uint64_t ticks);

// The call of a shell in that process which can have made an image: by its parent, by the time, by
// its command, and it has made no other so far. NULL if there is none.
struct ms_birth *ms_birth_find_shell(const struct ms_births *births,
        const struct ms_processes *processes, uint32_t process, const struct ms_process *image);

// Whether the call made a process without telling its pid.
bool ms_birth_is_shell(const struct ms_birth *birth);

// Whether a pid in a block of the process is that of a vfork child of it.
bool ms_birth_is_foreign(const struct ms_processes *processes, uint32_t process, uint64_t pid);

// The pid of the caller; 0: unknown.
uint64_t ms_birth_caller_pid(const struct ms_processes *processes, const struct ms_spawn *call);

#endif
