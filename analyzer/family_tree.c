// SPDX-License-Identifier: MIT
// Who is whose child. A node's parent is the node that made the call; without a call the one of the
// image that it goes back to. Each node has one parent, so that what a trace may lie about are
// circles only: these are cut where they close.
#include <stdlib.h>

#include "family_parts.h"
#include "memory.h"

static struct ms_node *node_of_birth(
        const struct ms_family_build *build, const struct ms_birth *birth)
{
    const struct ms_process *maker = ms_process_find(build->processes, birth->process);
    if (birth->call)
        return ms_family_caller(build->family, birth->call);
    return maker ? ms_family_node(build->family, maker) : NULL;
}

static struct ms_node *parent_by_lineage(
        const struct ms_family_build *build, struct ms_node *node, const struct ms_lineage *lineage)
{
    if (lineage->birth)
        return node_of_birth(build, lineage->birth);
    if (!lineage->maker)
        return NULL;
    node->is_through = !lineage->is_direct;
    node->maker = lineage->is_direct ? lineage->maker->index : 0;
    return lineage->through && lineage->through->node
                   ? lineage->through->node
                   : ms_family_node(build->family, lineage->maker);
}

static void find_parents(const struct ms_family_build *build)
{
    struct ms_family *family = build->family;
    for (size_t i = 0; i < family->count; i++) {
        struct ms_node *node = &family->nodes[i];
        if (node->first)
            node->parent = parent_by_lineage(
                    build, node, &build->lineages[node->first - build->processes->list]);
        else if (node->wait && !node->made && !node->is_vfork_child)
            node->parent = ms_family_caller(family, node->wait);
    }
    for (size_t i = 0; i < build->births.count; i++) {
        const struct ms_birth *birth = &build->births.list[i];
        if (birth->node && !birth->node->first)
            birth->node->parent = node_of_birth(build, birth);
    }
}

// Goes up from each node to one that was met before: if that was on the same way, there is a
// circle.
static void cut_circles(struct ms_family *family)
{
    size_t *met = ms_memory_zeroed(family->count, sizeof *met);
    for (size_t i = 0; i < family->count; i++) {
        struct ms_node *node = &family->nodes[i];
        for (; !met[node - family->nodes]; node = node->parent) {
            met[node - family->nodes] = i + 1;
            if (node->parent && met[node->parent - family->nodes] == i + 1)
                node->parent = NULL;
            if (!node->parent)
                break;
        }
    }
    free(met);
}

static void link_children(struct ms_family *family)
{
    for (size_t i = family->count; i-- > 0;) {
        struct ms_node *node = &family->nodes[i];
        struct ms_node **list = node->parent ? &node->parent->first_child : &family->root;
        node->next = *list;
        *list = node;
    }
}

// Parents come before their children in depth-first order, and behind them in its reverse.
static void count_descendants(struct ms_family *family)
{
    struct ms_node **order = ms_memory_zeroed(family->count, sizeof(struct ms_node *));
    size_t count = 0;
    for (struct ms_node *node = family->root; node; node = ms_node_next(node)) {
        node->depth = node->parent ? node->parent->depth + 1 : 0;
        order[count++] = node;
    }
    while (count--)
        if (order[count]->parent)
            order[count]->parent->descendants += order[count]->descendants + 1;
    free(order);
}

void ms_family_make_tree(struct ms_family_build *build)
{
    find_parents(build);
    cut_circles(build->family);
    link_children(build->family);
    count_descendants(build->family);
}
