// SPDX-License-Identifier: MIT
// Which image came of which: the successor of an image by exec, and of every other one the birth
// that it goes back to. A part of family.h.
#ifndef MEMSPY_ANALYZER_LINEAGE_H
#define MEMSPY_ANALYZER_LINEAGE_H

#include "birth.h"

// An exec that was announced and not taken back.
struct ms_announced {
    uint32_t process;
    uint64_t pid; // of the vfork child that made it; 0: the process itself
    uint64_t start;
    const struct ms_spawn *call;
};

struct ms_announcements {
    struct ms_announced *list; // by process, pid and start
    size_t count;
};

void ms_announcements_collect(struct ms_announcements *announcements,
        const struct ms_processes *processes, const struct ms_spawns *spawns);
void ms_announcements_free(struct ms_announcements *announcements);

// What an image goes back to.
struct ms_lineage {
    struct ms_process *before; // the image that it replaced, of the same process; then no more
    struct ms_process *maker;  // the image whose program made it, or an ancestor; NULL: unknown
    struct ms_birth *birth;    // the call; NULL: unknown
    struct ms_birth *through;  // without a call: that of the untraced child of `maker` that made it
    bool is_direct;            // `maker` is its parent
};

// Fills in `successor` of the images and `image` of the births. Returns an element an image, in
// the order of the process list, to be freed with free.
struct ms_lineage *ms_lineage_trace(const struct ms_processes *processes,
        const struct ms_announcements *announcements, const struct ms_births *births);

#endif
