// SPDX-License-Identifier: MIT
// How processes ended: what they said themselves counts, else what the one that waited for them
// learned. And in which words what is not traced is explained.
#include <stdlib.h>

#include "family_parts.h"
#include "memory.h"

#define SIGNAL_KILL 9 // SIGKILL on every Linux: a trace may come from another machine

void ms_family_take_back_ends(struct ms_family_build *build)
{
    for (size_t i = 0; i < build->spawns->count; i++) {
        const struct ms_spawn *call = &build->spawns->list[i];
        if (call->number[MS_SPAWN_P_KIND] != MS_SPAWN_DAEMON || !ms_spawn_failed(call))
            continue;
        struct ms_process *image = ms_process_find(build->processes, call->process);
        // The block was written after the END that it takes back, and before one that it does not.
        if (image && image->how == MS_END_DAEMON && ms_spawn_start(call) <= image->ending.ticks &&
                image->ending.ticks <= call->ticks)
            image->ending = (struct ms_ending){0};
    }
}

void ms_family_note_child_ends(struct ms_family_build *build)
{
    for (size_t i = 0; i < build->processes->child_end_count; i++) {
        const struct ms_child_end *end = &build->processes->child_ends[i];
        struct ms_ending *ending = NULL;
        if (ms_birth_is_foreign(build->processes, end->process, end->pid)) {
            struct ms_node *node =
                    ms_family_node_of_pid(build, end->process, end->pid, end->ending.ticks);
            ending = node ? &node->ending : NULL;
        } else {
            ending = &ms_process_find(build->processes, end->process)->ending;
        }
        if (ending && end->ending.ticks >= ending->ticks)
            *ending = end->ending;
    }
}

// What a wait status says; nothing of statuses that are none, as system returns on failure.
static bool read_status(const struct ms_spawn *call, struct ms_ending *ending)
{
    uint64_t status = call->number[MS_SPAWN_P_STATUS], signal = status & 0x7f;
    if (!ms_spawn_has(call, MS_SPAWN_P_STATUS) || status > 0xffff || signal == 0x7f)
        return false;
    ending->fate = signal == 0             ? MS_FATE_EXIT
                   : signal == SIGNAL_KILL ? MS_FATE_KILLED
                                           : MS_FATE_SIGNAL;
    ending->has_status = true;
    ending->status = signal ? signal : status >> 8;
    ending->ticks = ms_spawn_finish(call);
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// By process, stream and start: the order of the list of calls is that of time.
static int by_stream(const void *a, const void *b)
{
    const struct ms_spawn *x = *(const struct ms_spawn *const *)a;
    const struct ms_spawn *y = *(const struct ms_spawn *const *)b;
    int order = compare(x->process, y->process);
    if (!order)
        order = compare(x->number[MS_SPAWN_P_STREAM], y->number[MS_SPAWN_P_STREAM]);
    return order ? order : (x > y) - (x < y);
}

static void give_wait(struct ms_node *node, const struct ms_spawn *call)
{
    if (node && !node->wait)
        node->wait = call;
}

// Goes through the calls of each stream in order of time: pclose ends what popen began.
static void match_streams(struct ms_family_build *build)
{
    const struct ms_spawn **calls = ms_memory_zeroed(build->spawns->count, sizeof *calls);
    const struct ms_spawn *open = NULL;
    size_t count = 0;
    for (size_t i = 0; i < build->spawns->count; i++) {
        const struct ms_spawn *call = &build->spawns->list[i];
        uint64_t kind = call->number[MS_SPAWN_P_KIND];
        if ((kind == MS_SPAWN_POPEN || kind == MS_SPAWN_PCLOSE) &&
                ms_spawn_has(call, MS_SPAWN_P_STREAM))
            calls[count++] = call;
        if (kind == MS_SPAWN_SYSTEM && ms_spawn_has(call, MS_SPAWN_P_STATUS))
            give_wait(ms_family_child(build->family, call), call);
    }
    if (count)
        qsort(calls, count, sizeof *calls, by_stream);
    for (size_t i = 0; i < count; i++) {
        const struct ms_spawn *call = calls[i];
        bool is_other =
                open && (open->process != call->process ||
                                open->number[MS_SPAWN_P_STREAM] != call->number[MS_SPAWN_P_STREAM]);
        if (open && !is_other && call->number[MS_SPAWN_P_KIND] == MS_SPAWN_PCLOSE)
            give_wait(ms_family_child(build->family, open), call);
        open = call->number[MS_SPAWN_P_KIND] == MS_SPAWN_POPEN ? call : NULL;
    }
    free(calls);
}

static void end_node(struct ms_node *node)
{
    struct ms_ending ending = node->ending;
    if (node->last)
        ending = node->last->ending;
    if (node->unseen)
        ending = (struct ms_ending){0};
    if (ending.fate == MS_FATE_OPEN && node->wait)
        read_status(node->wait, &ending);
    node->ending = ending;
}

static void end_image(
        const struct ms_family_build *build, const struct ms_node *node, struct ms_process *image)
{
    const struct ms_process *after = ms_node_image_after(build->family, image);
    const struct ms_spawn *exec = after ? after->exec : node->unseen ? node->unseen->call : NULL;
    if (!after && !exec) {
        image->ending = node->ending;
        return;
    }
    image->ending = (struct ms_ending){.fate = MS_FATE_EXEC,
            .ticks = exec ? ms_spawn_start(exec) : after->number[MS_PROCESS_START_TICKS]};
}

// An image's parent is that of the process; its PROCESS block tells it of forked ones only.
static void find_parent(const struct ms_family_build *build, struct ms_process *image)
{
    const struct ms_lineage *lineage = &build->lineages[image - build->processes->list];
    if (lineage->before)
        image->parent = lineage->before->parent;
    else if (image->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_EXEC)
        image->parent = lineage->maker ? lineage->maker->index : 0;
}

static const char *why_not_followed(
        const struct ms_family_build *build, const struct ms_spawn *call)
{
    const struct ms_process *caller = ms_process_find(build->processes, call->process);
    bool is_alone = caller && (caller->number[MS_PROCESS_FLAGS] & MS_PROCESS_ALONE);
    switch (call->number[MS_SPAWN_P_TARGET]) {
    case MS_TARGET_STATIC:
        return "static";
    case MS_TARGET_SECURE:
        return "set-uid, set-gid or with capabilities";
    case MS_TARGET_FOREIGN:
        return "another ELF class";
    case MS_TARGET_ABSENT:
        return "its file could not be opened";
    case MS_TARGET_NO_SHIM:
        return "the shim cannot be found from its root";
    case MS_TARGET_DROPPED:
        return "the shim was taken out of its environment";
    case MS_TARGET_ALONE:
        return "MEMSPY_FOLLOW=0";
    default:
        return is_alone ? "MEMSPY_FOLLOW=0"
                        : "it did not join: killed at once, or its environment was dropped";
    }
}

static const char *why_not(const struct ms_family_build *build, const struct ms_node *node)
{
    if (node->unseen)
        return why_not_followed(build, node->unseen->call);
    if (node->first)
        return NULL;
    if (node->is_vfork_child)
        return "a vfork child: it ran in its parent's memory";
    if (!node->made)
        return "made by a call that is not recorded";
    if (ms_spawn_class_of(node->made) == MS_SPAWN_FORKS)
        return "it had nothing to tell so far, or before it was killed";
    return why_not_followed(build, node->made);
}

void ms_family_make_ends(struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    match_streams(build);
    for (size_t i = 0; i < family->count; i++) {
        struct ms_node *node = &family->nodes[i];
        end_node(node);
        node->why_not = why_not(build, node);
        for (struct ms_process *image = node->first; image;
                image = ms_node_image_after(family, image)) {
            end_image(build, node, image);
            find_parent(build, image);
        }
    }
}
