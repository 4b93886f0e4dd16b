// SPDX-License-Identifier: MIT
// Building goes from what is sure to what follows from it:
//
//     births, announcements   the calls, sorted so that they can be found        birth, lineage
//     lineages                which image came of which image, by which call     lineage
//     nodes                   lives of pids: images, calls without image, waits  family_node
//     tree                    parents and children                               family_tree
//     execs                   which image came of which exec                     family_exec
//     ends                    own END, else the wait                             family_end
//
// Each step sorts and searches: n log n whatever the trace says.
#include "family.h"

#include <stdlib.h>

#include "family_parts.h"
#include "memory.h"

static void note_mains(const struct ms_family_build *build)
{
    for (size_t i = 0; i < build->spawns->count; i++) {
        const struct ms_spawn *call = &build->spawns->list[i];
        struct ms_process *image = ms_spawn_class_of(call) == MS_SPAWN_BEGINS
                                           ? ms_process_find(build->processes, call->process)
                                           : NULL;
        if (image && !image->main_ticks)
            image->main_ticks = ms_spawn_start(call);
    }
}

void ms_family_build(
        struct ms_family *family, struct ms_processes *processes, const struct ms_spawns *spawns)
{
    struct ms_family_build build = {.family = family, .processes = processes, .spawns = spawns};
    *family = (struct ms_family){.processes = processes, .spawns = spawns};
    ms_family_take_back_ends(&build);
    note_mains(&build);
    ms_births_collect(&build.births, processes, spawns);
    ms_announcements_collect(&build.announcements, processes, spawns);
    build.lineages = ms_lineage_trace(processes, &build.announcements, &build.births);
    ms_family_make_nodes(&build);
    ms_family_make_tree(&build);
    ms_family_note_child_ends(&build);
    ms_family_make_execs(&build);
    ms_family_make_ends(&build);
    free(build.lineages);
    ms_announcements_free(&build.announcements);
    ms_births_free(&build.births);
}

void ms_family_free(struct ms_family *family)
{
    free(family->nodes);
    free(family->execs);
    free(family->by_image);
    free(family->by_call);
    free(family->by_caller);
    *family = (struct ms_family){0};
}

struct ms_node *ms_family_node(const struct ms_family *family, const struct ms_process *image)
{
    return family->by_image[image - family->processes->list];
}

struct ms_node *ms_family_child(const struct ms_family *family, const struct ms_spawn *call)
{
    return family->by_call[call - family->spawns->list];
}

struct ms_node *ms_family_caller(const struct ms_family *family, const struct ms_spawn *call)
{
    return family->by_caller[call - family->spawns->list];
}

struct ms_node *ms_node_next(const struct ms_node *node)
{
    if (node->first_child)
        return node->first_child;
    while (node && !node->next)
        node = node->parent;
    return node ? node->next : NULL;
}

struct ms_process *ms_node_image_after(
        const struct ms_family *family, const struct ms_process *image)
{
    return image->successor ? ms_process_find(family->processes, image->successor) : NULL;
}

static const char *origin_of_call(const struct ms_spawn *call)
{
    switch (ms_spawn_class_of(call)) {
    case MS_SPAWN_STARTS:
    case MS_SPAWN_SHELLS:
        return "posix_spawn";
    default:
        break;
    }
    switch (call->number[MS_SPAWN_P_KIND]) {
    case MS_SPAWN_VFORK:
        return "vfork";
    case MS_SPAWN_CLONE:
        return "clone";
    default:
        return "fork";
    }
}

const char *ms_node_origin(const struct ms_node *node, const struct ms_process *image)
{
    uint64_t origin = image ? image->number[MS_PROCESS_ORIGIN] : 0;
    if (image && image != node->first)
        return "exec";
    if (node->made)
        return origin_of_call(node->made);
    if (node->is_vfork_child)
        return "vfork";
    if (origin == MS_ORIGIN_FORK && image->number[MS_PROCESS_FLAGS] & MS_PROCESS_LATE)
        return "clone";
    return image ? ms_process_origin(image) : "unknown";
}

const char *ms_node_made_by(const struct ms_node *node, const struct ms_process *image)
{
    if (image && image != node->first)
        return image->exec ? ms_spawn_name_of(image->exec) : NULL;
    if (node->made)
        return ms_spawn_name_of(node->made);
    return node->is_vfork_child ? "vfork" : NULL;
}

enum ms_way ms_node_way(const struct ms_node *node)
{
    bool has_run = node->unseen ||
                   (node->first && (node->images > 1 || node->first->number[MS_PROCESS_ORIGIN] ==
                                                                MS_ORIGIN_EXEC));
    if (!node->made)
        return MS_WAY_NONE;
    if (ms_spawn_class_of(node->made) == MS_SPAWN_STARTS)
        return MS_WAY_POSIX_SPAWN;
    if (ms_spawn_class_of(node->made) != MS_SPAWN_FORKS || !has_run)
        return MS_WAY_NONE;
    return node->made->number[MS_SPAWN_P_KIND] == MS_SPAWN_VFORK ? MS_WAY_VFORK_EXEC
                                                                 : MS_WAY_FORK_EXEC;
}

const char *ms_way_name(enum ms_way way)
{
    static const char *const names[] = {"fork+exec", "vfork+exec", "posix_spawn", "another way"};
    return names[way];
}

const char *ms_node_program(const struct ms_node *node)
{
    const struct ms_process *image = node->last ? node->last : node->copied;
    if (node->unseen)
        return node->unseen->call->path;
    if (image)
        return image->text[MS_PROCESS_EXE];
    if (node->made && ms_spawn_class_of(node->made) == MS_SPAWN_SHELLS)
        return "/bin/sh"; // which libc does not tell, and every libc runs
    return node->made ? node->made->path : NULL;
}
