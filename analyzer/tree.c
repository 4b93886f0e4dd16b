// SPDX-License-Identifier: MIT
// Rows are made from the root down. The children of all nodes of a row are put together, sorted so
// that those alike stand side by side, and cut into rows; those wait on a stack until what is below
// the rows before them has been done:
//
//     row      2 000 x sh            nodes: sh sh sh ...
//     children true true true ...    -> one row of 2 000
//
// A node is in exactly one row, so all rows share one array of nodes, and nothing recurses however
// deep the tree is.
#include "tree.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

struct build {
    struct ms_tree *tree;
    const struct ms_family *family;
    size_t used;               // of tree->nodes
    struct ms_tree_row *stack; // rows to come, the next one last
    size_t depth;
};

struct ms_process *ms_tree_first(const struct ms_family *family, const struct ms_node *node)
{
    struct ms_process *image = node->first;
    if (!image || !node->made || ms_node_way(node) == MS_WAY_POSIX_SPAWN)
        return image;
    struct ms_process *next = ms_node_image_after(family, image);
    bool is_copy = image->number[MS_PROCESS_ORIGIN] == MS_ORIGIN_FORK;
    return is_copy && (next || node->unseen) ? next : image;
}

static int compare_texts(const char *x, const char *y)
{
    return strcmp(x ? x : "", y ? y : "");
}

static int compare_numbers(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

// The programs one after the other.
static int compare_images(
        const struct ms_family *family, const struct ms_node *x, const struct ms_node *y)
{
    const struct ms_process *a = ms_tree_first(family, x), *b = ms_tree_first(family, y);
    for (; a && b; a = ms_node_image_after(family, a), b = ms_node_image_after(family, b)) {
        int order = compare_texts(a->text[MS_PROCESS_EXE], b->text[MS_PROCESS_EXE]);
        if (order)
            return order;
    }
    int order = (a != NULL) - (b != NULL);
    return order ? order : compare_texts(ms_node_program(x), ms_node_program(y));
}

static int compare_ends(const struct ms_ending *x, const struct ms_ending *y)
{
    int order = compare_numbers(x->fate, y->fate);
    return order ? order : compare_numbers(x->status, y->status);
}

static int compare_nodes(
        const struct ms_family *family, const struct ms_node *x, const struct ms_node *y)
{
    int order = compare_images(family, x, y);
    if (!order)
        order = compare_texts(ms_node_made_by(x, x->first), ms_node_made_by(y, y->first));
    if (!order)
        order = compare_ends(&x->ending, &y->ending);
    return order ? order : compare_texts(x->why_not, y->why_not);
}

static int by_kind(const void *a, const void *b, void *family)
{
    const struct ms_node *x = *(struct ms_node *const *)a, *y = *(struct ms_node *const *)b;
    int order = compare_nodes(family, x, y);
    return order ? order : (x > y) - (x < y); // the array of nodes is by start
}

static int by_first_start(const void *a, const void *b)
{
    const struct ms_tree_row *x = a, *y = b;
    return (x->nodes[0] > y->nodes[0]) - (x->nodes[0] < y->nodes[0]);
}

// Cuts nodes [from, build->used), sorted by kind, into rows and puts them on the stack.
static void push_rows(struct build *build, size_t from, size_t depth)
{
    struct ms_node **nodes = build->tree->nodes;
    struct ms_tree_row *rows = build->stack + build->depth;
    size_t count = 0;
    for (size_t at = from, end; at < build->used; at = end) {
        for (end = at + 1; end < build->used; end++)
            if (compare_nodes(build->family, nodes[at], nodes[end]) != 0)
                break;
        size_t step = end - at >= MS_TREE_ALIKE ? end - at : 1;
        for (; at < end; at += step)
            rows[count++] =
                    (struct ms_tree_row){.nodes = nodes + at, .count = step, .depth = depth};
    }
    if (!count)
        return;
    qsort(rows, count, sizeof *rows, by_first_start);
    rows[count - 1].is_last = true;
    for (size_t i = 0; i < count / 2; i++) { // the first one is to be taken first
        struct ms_tree_row row = rows[i];
        rows[i] = rows[count - 1 - i];
        rows[count - 1 - i] = row;
    }
    build->depth += count;
}

static void push_list(struct build *build, struct ms_node *node)
{
    for (; node; node = node->next)
        build->tree->nodes[build->used++] = node;
}

static void push_sorted(struct build *build, size_t from, size_t depth)
{
    struct ms_node **nodes = build->tree->nodes;
    if (build->used > from)
        qsort_r(nodes + from, build->used - from, sizeof *nodes, by_kind,
                (void *)(uintptr_t)build->family);
    push_rows(build, from, depth);
}

void ms_tree_build(struct ms_tree *tree, const struct ms_family *family)
{
    size_t room = family->count ? family->count : 1;
    struct build build = {.tree = tree, .family = family};
    *tree = (struct ms_tree){
            .rows = ms_memory_zeroed(room, sizeof *tree->rows),
            .nodes = ms_memory_zeroed(room, sizeof(struct ms_node *)),
    };
    build.stack = ms_memory_zeroed(room, sizeof *build.stack);
    push_list(&build, family->root);
    push_sorted(&build, 0, 0);
    while (build.depth) {
        struct ms_tree_row row = build.stack[--build.depth];
        size_t from = build.used;
        tree->rows[tree->count++] = row;
        for (size_t i = 0; i < row.count; i++)
            push_list(&build, row.nodes[i]->first_child);
        push_sorted(&build, from, row.depth + 1);
    }
    free(build.stack);
}

void ms_tree_free(struct ms_tree *tree)
{
    free(tree->rows);
    free(tree->nodes);
    *tree = (struct ms_tree){0};
}

struct ms_tree_memory ms_tree_memory(const struct ms_replay *replay, const struct ms_node *node)
{
    const struct ms_reader *reader = replay->reader;
    struct ms_tree_memory memory = {.is_known = node->first != NULL};
    const struct ms_process *image = node->first;
    for (; image; image = ms_node_image_after(&reader->family, image)) {
        const struct ms_figures *figures = &replay->figures[image - reader->processes.list];
        memory.alloc_ns += ms_clock_ns(&reader->clock, figures->alloc_ticks);
        if (figures->peak_bytes > memory.peak_bytes)
            memory.peak_bytes = figures->peak_bytes;
    }
    return memory;
}

double ms_tree_lived(const struct ms_reader *reader, const struct ms_node *node)
{
    if (!node->start || node->ending.ticks < node->start)
        return NAN;
    return ms_clock_ns(&reader->clock, (double)(node->ending.ticks - node->start));
}

double ms_tree_cost(const struct ms_reader *reader, const struct ms_node *node)
{
    if (!node->made || !ms_spawn_has(node->made, MS_SPAWN_P_COST))
        return NAN;
    return ms_clock_ns(&reader->clock, (double)node->made->number[MS_SPAWN_P_COST]);
}
