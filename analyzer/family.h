// SPDX-License-Identifier: MIT
// The process tree: who made whom, by which call, what that cost and how it ended, put together
// from what the images (process.h) and the calls (spawn.h) say. reader->family is built when a
// trace is opened, and points into reader->processes and reader->spawns.
//
// A node is one life of a pid. What a node is known by:
//
//     images only       the initial program; a child whose parent was killed before it could tell
//     images and call   the usual child: fork, then exec and exec again are one node, three images
//     call only         untraced: `first` is NULL, why_not says why
//     a wait only       untraced, made by a call that was not recorded
//
// A vfork child is a node of its own although it has no index of its own until it runs a program.
// All times are in ticks of the file's clock: ms_clock_ns and ms_clock_at of reader->clock convert.
// A member has_X says whether X is known; X is 0 if not.
// Traces are untrusted, but this much is sure: parents make no circle, every node is in one list of
// children or is a root. The tree may be as deep as there are nodes: walk it with ms_node_next, do
// not recurse.
#ifndef MEMSPY_ANALYZER_FAMILY_H
#define MEMSPY_ANALYZER_FAMILY_H

#include "process.h"
#include "spawn.h"

// The ways from a parent to a child that runs another program, as report and contract name them.
enum ms_way {
    MS_WAY_FORK_EXEC,   // fork, _Fork, clone, forkpty, daemon; then exec
    MS_WAY_VFORK_EXEC,  // vfork, then exec
    MS_WAY_POSIX_SPAWN, // posix_spawn(p), pidfd_spawn(p)
    MS_WAYS,
    MS_WAY_NONE = MS_WAYS, // another way, or it never ran a program
};

enum ms_exec_state {
    MS_EXEC_HAPPENED, // the program was replaced
    MS_EXEC_FAILED,   // call->number[MS_SPAWN_P_ERRNO] says why
    MS_EXEC_UNSURE,   // nothing says that it failed, and the process went on all the same
};

// One call of the exec family.
struct ms_exec {
    const struct ms_spawn *call;
    struct ms_node *node;      // whose program it was to replace
    struct ms_process *before; // the image that called; NULL: a vfork child in its parent's
    struct ms_process *image;  // what came of it; NULL: it failed, or the new program is untraced
    enum ms_exec_state state;
    bool has_to_init, has_to_main;
    uint64_t to_init; // from ms_spawn_entry(call) to when the new image's recorder began
    uint64_t to_main; // and to when its main was entered
};

struct ms_node {
    uint64_t pid;  // 0: unknown (a shell that never joined)
    uint64_t ppid; // 0: unknown

    struct ms_node *parent; // NULL: a root
    struct ms_node *first_child;
    struct ms_node *next; // the next child of the same parent, or the next root; by `start`
    size_t descendants;   // all nodes below it
    size_t depth;         // of roots 0

    // How it was made. `made` is NULL if no record tells: of roots, for example.
    const struct ms_spawn *made;
    uint32_t maker;                  // index of the image in which that call was made; 0: unknown
    const struct ms_process *copied; // of fork and vfork: that image; else NULL
    bool is_through;     // made by a program that is not traced, somewhere between parent and it
    bool is_vfork_child; // by vfork, also if only its own records tell

    // Its images, in order: first, then ms_node_image_after. NULL: untraced.
    struct ms_process *first, *last;
    size_t images;
    // Why it, or the program that it became at last, is not traced: one of few texts. NULL: it is
    // traced from the first image to the end.
    const char *why_not;

    // Its execs in order of time, failed ones included. unseen: the last one, which happened and
    // whose program is not traced; NULL if there is none.
    struct ms_exec *execs;
    size_t exec_count;
    const struct ms_exec *unseen;
    size_t failed_execs;
    uint64_t failed_ticks; // their costs added up

    // Between the return of fork or vfork in the child and its first exec's entry.
    bool has_gap;
    uint64_t gap;
    uint64_t gap_dups, gap_closes, gap_opens; // calls in it

    // When: `start` is that of the call that made it, else of its first image; 0 if neither.
    uint64_t start;
    bool has_latency, has_to_main;
    uint64_t latency; // of a fork: from its start to the child's first step
    uint64_t to_main; // from `start` of the call to main of the first program that it ran by exec

    // How the process ended. From its own END, else from the parent's wait, and then ending.ticks
    // is when the parent learned of it, at the latest.
    struct ms_ending ending;
    const struct ms_spawn *wait; // the record that tells status and rusage; NULL: none
};

struct ms_family {
    struct ms_node *nodes; // by `start`
    size_t count;
    struct ms_node *root;  // the first of the roots, a list by `next`
    struct ms_exec *execs; // all of them, by node and time
    size_t exec_count;
    struct ms_node **by_image;  // in the order of the process list
    struct ms_node **by_call;   // in the order of the spawn list: the child it made; NULL: none
    struct ms_node **by_caller; // likewise: who made the call; NULL: unknown
    const struct ms_processes *processes;
    const struct ms_spawns *spawns;
};

// Builds the tree from linked processes and spawns, which must outlive it. Fills in what follows
// from the tree in each image: successor, parent, ending, main_ticks.
void ms_family_build(
        struct ms_family *family, struct ms_processes *processes, const struct ms_spawns *spawns);
void ms_family_free(struct ms_family *family);

// The node of an image, and the child that a call made; NULL if there is none. Arguments are
// elements of the lists that the family was built from.
struct ms_node *ms_family_node(const struct ms_family *family, const struct ms_process *image);
struct ms_node *ms_family_child(const struct ms_family *family, const struct ms_spawn *call);

// The node that made a call: the vfork child that did, if it was one.
struct ms_node *ms_family_caller(const struct ms_family *family, const struct ms_spawn *call);

// The node after this one in depth-first order, parents before children; NULL at the end. Begin
// with family->root.
struct ms_node *ms_node_next(const struct ms_node *node);

// The image that replaced this one; NULL for the last one of its node.
struct ms_process *ms_node_image_after(
        const struct ms_family *family, const struct ms_process *image);

// The word of the contract for how an image, or with NULL an untraced node, came to be: "initial",
// "fork", "vfork", "posix_spawn", "exec", "clone", or "unknown".
const char *ms_node_origin(const struct ms_node *node, const struct ms_process *image);

// The function that made it: "posix_spawnp", of a later image "execvp". NULL: not known.
const char *ms_node_made_by(const struct ms_node *node, const struct ms_process *image);

enum ms_way ms_node_way(const struct ms_node *node);
const char *ms_way_name(enum ms_way way); // "fork+exec", "vfork+exec", "posix_spawn"

// What the node runs, or ran at last: executable of its last image, the path of the last exec, or
// the executable that a forked child is a copy of. NULL: unknown.
const char *ms_node_program(const struct ms_node *node);

#endif
