// SPDX-License-Identifier: MIT
// What the rules about making processes look at: the calls of one call site each, and what came of
// them.
#ifndef MEMSPY_ANALYZER_MODEL_SPAWN_H
#define MEMSPY_ANALYZER_MODEL_SPAWN_H

#include "forks.h"
#include "model.h"
#include "replay.h"

// From this much resident memory on a process is large: 64 KiB of page tables to copy.
#define MS_SPAWN_LARGE_KB (32 * 1024)
// A child that lives no longer than this is short-lived.
#define MS_SPAWN_SHORT_NS 100e6
// A gap between fork and exec from which on it is long.
#define MS_SPAWN_GAP_NS 1e6

// All times are in ns.
struct ms_spawn_place {
    uint64_t forks;               // calls of fork, _Fork, clone that made a child
    struct ms_samples large_exec; // costs of those by a large process whose child ran a program
    double largest_kb;            // the most resident memory of one of those
    uint64_t execs;               // children of fork that ran a program

    // Forks that cost at least twice what one of the same program image did when it was smaller by
    // half and MS_SPAWN_LARGE_KB; not those whose child ran a program.
    struct ms_samples late, earlier;
    double late_kb, earlier_kb; // of the last one

    struct ms_samples starts; // when short-lived children were made, in order
    struct ms_samples lived;  // how long they lived
    struct ms_samples making; // what it took until their main, else what the call took

    struct ms_samples gaps; // long ones
    uint64_t gap_dups, gap_closes, gap_opens;

    struct ms_samples idle; // costs of forks whose child did nothing that can be seen
    struct ms_samples idle_lived;

    uint64_t searches;          // of programs in several directories
    struct ms_samples attempts; // failed ones in them
    uint64_t untimed_attempts;  // failed ones whose cost is not known
};

struct ms_spawn_model {
    struct ms_findings *findings;
    const struct ms_replay *replay;
    const struct ms_family *family;
    struct ms_forks *forks;
    double lifetime_ns;
    struct ms_sites sites;
    struct ms_spawn_place *places; // by the number of the site; 0: the caller is not known
    size_t count, capacity;
};

// Applies the rules to one place.
void ms_spawn_model_judge(struct ms_spawn_model *model, size_t place);

#endif
