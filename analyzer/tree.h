// SPDX-License-Identifier: MIT
// The process tree as rows, each of one process or of many that are alike.
#ifndef MEMSPY_ANALYZER_TREE_H
#define MEMSPY_ANALYZER_TREE_H

#include "replay.h"

// Children of one row are alike if they ran the same programs, were made by the same function and
// ended in the same way. So many of them become one row, and theirs are looked at together.
#define MS_TREE_ALIKE 10

struct ms_tree_row {
    struct ms_node **nodes; // by start
    size_t count;
    size_t depth;
    bool is_last; // no other row of the same parent follows
};

// Rows in depth-first order: parents before their children.
struct ms_tree {
    struct ms_tree_row *rows;
    size_t count;
    struct ms_node **nodes; // what the rows point into
};

void ms_tree_build(struct ms_tree *tree, const struct ms_family *family);
void ms_tree_free(struct ms_tree *tree);

// The image whose program is the node's first: a copy of its parent that went on to run a program
// is none. NULL: that program is untraced.
struct ms_process *ms_tree_first(const struct ms_family *family, const struct ms_node *node);

// What the replay found out about a node's images together.
struct ms_tree_memory {
    bool is_known;
    double alloc_ns;     // its allocations and frees
    uint64_t peak_bytes; // of the image with the highest
};

struct ms_tree_memory ms_tree_memory(const struct ms_replay *replay, const struct ms_node *node);

// How long it lived, in ns; not a number if that is not known.
double ms_tree_lived(const struct ms_reader *reader, const struct ms_node *node);

// What the call that made it cost, in ns; not a number if that is not known.
double ms_tree_cost(const struct ms_reader *reader, const struct ms_node *node);

// The two forms, to stdout.
void ms_tree_print_text(const struct ms_replay *replay, const char *path);
void ms_tree_print_json(const struct ms_replay *replay, const char *path);

#endif
