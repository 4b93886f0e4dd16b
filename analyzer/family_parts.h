// SPDX-License-Identifier: MIT
// What the files of the family share while they build it.
#ifndef MEMSPY_ANALYZER_FAMILY_PARTS_H
#define MEMSPY_ANALYZER_FAMILY_PARTS_H

#include "family.h"
#include "lineage.h"

struct ms_family_build {
    struct ms_family *family;
    struct ms_processes *processes;
    const struct ms_spawns *spawns;
    struct ms_births births;
    struct ms_announcements announcements;
    struct ms_lineage *lineages; // by image
};

// family_node.c: the nodes, each with its images, the call that made it and its wait.
void ms_family_make_nodes(struct ms_family_build *build);

// family_tree.c: who is whose child.
void ms_family_make_tree(struct ms_family_build *build);

// family_exec.c: the execs, what came of them, and the gap before the first.
void ms_family_make_execs(struct ms_family_build *build);

// family_end.c: ends that a failed daemon did not bring about, before anything else is known.
void ms_family_take_back_ends(struct ms_family_build *build);

// family_end.c: what vfork children said of their ends.
void ms_family_note_child_ends(struct ms_family_build *build);

// family_end.c: how nodes and images ended, and why not all of them are traced.
void ms_family_make_ends(struct ms_family_build *build);

// The node that made a call, or whose end it is: of a vfork child by its pid, else of the image.
struct ms_node *ms_family_node_of_pid(
        const struct ms_family_build *build, uint32_t process, uint64_t pid, uint64_t ticks);

#endif
