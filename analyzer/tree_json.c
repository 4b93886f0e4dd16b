// SPDX-License-Identifier: MIT
// memspy tree --json: one object with a list of all processes, parents before their children. It is
// flat, whatever the depth of the tree; `parent` is the number of an entry before.
#include "tree.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "out_json.h"

struct out {
    struct ms_json json;
    const struct ms_replay *replay;
    size_t *number_of; // nodes by their place in the family
};

static void put_moment(struct out *out, const char *key, uint64_t ticks)
{
    const struct ms_clock_fit *clock = &out->replay->reader->clock;
    ms_json_put_real(&out->json, key, ticks ? ms_clock_at(clock, ticks) : NAN);
}

static void put_span(struct out *out, const char *key, bool is_known, uint64_t ticks)
{
    double ns = ms_clock_ns(&out->replay->reader->clock, (double)ticks);
    ms_json_put_real(&out->json, key, is_known ? ns : NAN);
}

static void put_image(struct out *out, const struct ms_node *node, const struct ms_process *image)
{
    const struct ms_reader *reader = out->replay->reader;
    const struct ms_figures *figures = &out->replay->figures[image - reader->processes.list];
    ms_json_begin(&out->json);
    ms_json_put_number(&out->json, "index", image->index);
    ms_json_put_text(&out->json, "exe", image->text[MS_PROCESS_EXE]);
    ms_json_put_texts(&out->json, "argv", image->text[MS_PROCESS_ARGV], image->argv_size);
    ms_json_put_text(&out->json, "origin", ms_node_origin(node, image));
    ms_json_put_text(&out->json, "made_by", ms_node_made_by(node, image));
    put_moment(out, "start_ns", image->number[MS_PROCESS_START_TICKS]);
    put_moment(out, "main_ns", image->main_ticks);
    ms_json_put_real(&out->json, "alloc_ns", ms_clock_ns(&reader->clock, figures->alloc_ticks));
    ms_json_put_number(&out->json, "peak_bytes", figures->peak_bytes);
    ms_json_end(&out->json);
}

static void put_images(struct out *out, const struct ms_node *node)
{
    const struct ms_process *image = node->first;
    ms_json_key(&out->json, "images");
    ms_json_list(&out->json);
    for (; image; image = ms_node_image_after(&out->replay->reader->family, image))
        put_image(out, node, image);
    ms_json_list_end(&out->json);
}

static void put_usage(struct out *out, const struct ms_spawn *wait)
{
    static const struct {
        const char *key;
        enum ms_spawn_property tag;
    } members[] = {{"utime_us", MS_SPAWN_P_UTIME}, {"stime_us", MS_SPAWN_P_STIME},
            {"maxrss_kb", MS_SPAWN_P_MAXRSS}};
    for (unsigned i = 0; i < 3; i++) {
        if (wait && ms_spawn_has(wait, members[i].tag))
            ms_json_put_number(&out->json, members[i].key, wait->number[members[i].tag]);
        else
            ms_json_put_null(&out->json, members[i].key);
    }
}

static void put_end(struct out *out, const struct ms_node *node)
{
    const struct ms_ending *ending = &node->ending;
    ms_json_put_text(&out->json, "end", ms_fate_name(ending->fate));
    if (ending->has_status)
        ms_json_put_number(&out->json, "status", ending->status);
    else
        ms_json_put_null(&out->json, "status");
    put_moment(out, "start_ns", node->start);
    put_moment(out, "end_ns", ending->ticks);
    ms_json_put_real(&out->json, "lived_ns", ms_tree_lived(out->replay->reader, node));
}

static void put_cost(struct out *out, const struct ms_node *node)
{
    struct ms_tree_memory memory = ms_tree_memory(out->replay, node);
    ms_json_put_real(&out->json, "ns", ms_tree_cost(out->replay->reader, node));
    put_span(out, "start_latency_ns", node->has_latency, node->latency);
    put_span(out, "gap_ns", node->has_gap, node->gap);
    put_span(out, "ns_to_main", node->has_to_main, node->to_main);
    ms_json_put_number(&out->json, "failed_execs", node->failed_execs);
    put_span(out, "failed_exec_ns", true, node->failed_ticks);
    ms_json_put_real(&out->json, "alloc_ns", memory.is_known ? memory.alloc_ns : NAN);
    if (memory.is_known)
        ms_json_put_number(&out->json, "peak_bytes", memory.peak_bytes);
    else
        ms_json_put_null(&out->json, "peak_bytes");
}

static void put_known(struct out *out, const char *key, uint64_t number)
{
    if (number)
        ms_json_put_number(&out->json, key, number);
    else
        ms_json_put_null(&out->json, key);
}

static void put_node(struct out *out, const struct ms_node *node)
{
    const struct ms_family *family = &out->replay->reader->family;
    ms_json_begin(&out->json);
    ms_json_put_number(&out->json, "number", out->number_of[node - family->nodes]);
    put_known(out, "parent", node->parent ? out->number_of[node->parent - family->nodes] : 0);
    ms_json_put_number(&out->json, "depth", node->depth);
    ms_json_put_number(&out->json, "descendants", node->descendants);
    put_known(out, "pid", node->pid);
    put_known(out, "ppid", node->ppid);
    ms_json_put_text(&out->json, "program", ms_node_program(node));
    ms_json_put_text(&out->json, "origin", ms_node_origin(node, node->first));
    ms_json_put_text(&out->json, "made_by", ms_node_made_by(node, node->first));
    put_end(out, node);
    put_cost(out, node);
    put_usage(out, node->wait);
    ms_json_put_bool(&out->json, "traced", node->why_not == NULL);
    ms_json_put_text(&out->json, "why_not", node->why_not);
    ms_json_put_bool(&out->json, "through_untraced", node->is_through);
    put_images(out, node);
    ms_json_end(&out->json);
}

void ms_tree_print_json(const struct ms_replay *replay, const char *path)
{
    const struct ms_reader *reader = replay->reader;
    const struct ms_family *family = &reader->family;
    size_t count = 0;
    struct out out = {.replay = replay};
    out.number_of = ms_memory_zeroed(family->count ? family->count : 1, sizeof *out.number_of);
    ms_json_open(&out.json, stdout, true);
    ms_json_begin(&out.json);
    ms_json_put_number(&out.json, "schema", 1);
    ms_json_key(&out.json, "trace");
    ms_json_begin(&out.json);
    ms_json_put_text(&out.json, "file", path);
    ms_json_put_number(&out.json, "start_mono_ns", reader->clock.start_ns);
    ms_json_end(&out.json);
    ms_json_key(&out.json, "processes");
    ms_json_list(&out.json);
    const struct ms_node *node = family->root;
    for (; node; node = ms_node_next(node)) {
        out.number_of[node - family->nodes] = ++count;
        put_node(&out, node);
    }
    ms_json_list_end(&out.json);
    ms_json_end(&out.json);
    ms_json_close(&out.json);
    free(out.number_of);
}
