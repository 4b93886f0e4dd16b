// SPDX-License-Identifier: MIT
// The SPAWN blocks of the calls that make, replace and await processes. A hook brackets the real
// call: before it the process's memory is read, with the clock not yet running; after it one block
// is written. Context: any thread, signal handler or vfork child; the caller's stack, no
// allocation; errno is kept.
#ifndef MEMSPY_LINEAGE_H
#define MEMSPY_LINEAGE_H

#include "thread.h"

#include <memspy/spawn.h>

// --- calls that make processes --------------------------------------------------------------

// Fills *birth, its start last. False when nothing is recorded here: then only forward. `entry`:
// ticks when the hook was entered.
bool ms_spawn_before(
        struct ms_birth *birth, enum ms_spawn_kind kind, const void *caller, uint64_t entry);

// What a call did beyond its kind's name; zeros and NULL where there is nothing to tell.
struct ms_spawn_result {
    uint64_t cost; // ticks; take it first: see ms_spawn_cost
    int child;     // pid
    int error;     // errno; 0: success
    bool has_cost; // false where it cannot be known
    bool has_status;
    int status;
    enum ms_target target;
    const char *path;
    char *const *arguments;
    const char *command; // instead of arguments
    const void *stream;
};

// Ticks since the call began.
uint64_t ms_spawn_cost(const struct ms_birth *birth);

void ms_spawn_after(const struct ms_birth *birth, const struct ms_spawn_result *result);
// The same by a child for its parent, whose index is given.
void ms_spawn_after_for(
        const struct ms_birth *birth, const struct ms_spawn_result *result, uint32_t process);

// --- exec -------------------------------------------------------------------------------------

struct ms_exec {
    bool on; // it is recorded
    bool announced;
    enum ms_spawn_kind kind;
    const void *caller;
    uint64_t entry; // ticks at the hook's entry
    uint64_t start; // ticks before this attempt
    uint64_t begin; // ticks directly before the real call
    enum ms_target target;
    const char *path;
    char *const *arguments; // NULL once they were told
    struct ms_gap gap;      // that this attempt closes
};

// At the hook's entry.
void ms_exec_enter(struct ms_exec *x, enum ms_spawn_kind kind, const void *caller);
// Before an attempt: what is recorded is made complete and the attempt is announced, unless the
// file is not there. `directory` and `path` as for openat(2); `shown`: what is recorded as the
// path.
void ms_exec_before(struct ms_exec *x, int directory, const char *path, const char *shown,
        char *const arguments[], char *const environment[]);
// It failed.
void ms_exec_failed(struct ms_exec *x, int error);

// --- waits --------------------------------------------------------------------------------------

struct ms_wait {
    enum ms_spawn_kind kind;
    const void *caller;
    uint64_t start; // ticks before the call
    int child;      // 0 for pclose
    int status;
    bool has_usage;
    uint64_t utime_us, stime_us, maxrss_kb;
    const void *stream; // pclose
};
void ms_spawn_waited(const struct ms_wait *w);

// The program's main is about to be entered.
void ms_spawn_main(void);

#endif
