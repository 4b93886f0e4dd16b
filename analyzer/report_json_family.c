// SPDX-License-Identifier: MIT
// The part of memspy report --json about processes: images and what is not traced, and the calls
// that made, replaced and awaited them. What is not known is null, never 0.
#include <math.h>

#include "report_json.h"

static void put_if(struct ms_json *json, const char *key, bool is_known, uint64_t number)
{
    if (is_known)
        ms_json_put_number(json, key, number);
    else
        ms_json_put_null(json, key);
}

// The moment in nanoseconds since the start of the trace; null when it is not known.
static void put_moment(
        struct ms_json *json, const char *key, const struct ms_report *report, uint64_t ticks)
{
    ms_json_put_real(json, key, ticks ? ms_clock_at(&report->reader->clock, ticks) : NAN);
}

static void put_duration(struct ms_json *json, const char *key, const struct ms_report *report,
        bool is_known, uint64_t ticks)
{
    ms_json_put_real(
            json, key, is_known ? ms_clock_ns(&report->reader->clock, (double)ticks) : NAN);
}

static void put_ending(
        struct ms_json *json, const struct ms_report *report, const struct ms_ending *ending)
{
    ms_json_put_text(json, "end", ms_fate_name(ending->fate));
    put_if(json, "status", ms_ending_tells_status(ending), ending->status);
    put_moment(json, "end_ns", report, ending->fate == MS_FATE_OPEN ? 0 : ending->ticks);
}

static void put_figures(
        struct ms_json *json, const struct ms_report *report, const struct ms_process *image)
{
    const struct ms_figures *figures = ms_report_figures(report, image);
    ms_json_put_number(json, "threads", figures->threads);
    ms_json_put_number(json, "events", figures->events);
    ms_json_put_number(json, "early_calls", image->number[MS_PROCESS_EARLY_CALLS]);
    ms_json_put_number(json, "live_bytes", figures->live_bytes);
    ms_json_put_number(json, "live_blocks", figures->live_blocks);
    ms_json_put_number(json, "peak_bytes", figures->peak_bytes);
    ms_json_put_number(json, "peak_blocks", figures->peak_blocks);
    ms_json_put_number(json, "unmatched_frees", figures->unmatched_frees);
}

static void put_image(struct ms_json *json, const struct ms_report *report,
        const struct ms_node *node, const struct ms_process *image)
{
    bool is_unseen = ms_report_is_unseen(report, image);
    ms_json_begin(json);
    ms_json_put_number(json, "index", image->index);
    ms_json_put_number(json, "parent", image->parent);
    put_if(json, "pid", image->known, image->number[MS_PROCESS_PID]);
    put_if(json, "ppid", image->known, image->number[MS_PROCESS_PPID]);
    ms_json_put_text(json, "exe", image->text[MS_PROCESS_EXE]);
    ms_json_put_texts(json, "argv", image->text[MS_PROCESS_ARGV], image->argv_size);
    ms_json_put_text(json, "origin", ms_node_origin(node, image));
    ms_json_put_text(json, "made_by", ms_node_made_by(node, image));
    put_ending(json, report, &image->ending);
    put_moment(json, "start_ns", report, image->number[MS_PROCESS_START_TICKS]);
    ms_json_put_text(json, "libc", image->text[MS_PROCESS_LIBC]);
    ms_json_put_text(json, "allocator", image->text[MS_PROCESS_ALLOCATOR]);
    ms_json_put_bool(json, "traced", true);
    ms_json_put_text(json, "why_not", is_unseen ? "it has a malloc of its own" : NULL);
    put_figures(json, report, image);
    ms_json_end(json);
}

// A process without any image, or the program that one became at last.
static void put_untraced(
        struct ms_json *json, const struct ms_report *report, const struct ms_node *node)
{
    const struct ms_spawn *exec = node->unseen ? node->unseen->call : NULL;
    const struct ms_spawn *call = exec ? exec : node->made;
    const struct ms_process *near = node->parent ? node->parent->last : NULL;
    uint32_t parent = node->maker ? node->maker : near ? near->index : 0;
    bool is_successor = exec && node->last;
    ms_json_begin(json);
    ms_json_put_null(json, "index");
    ms_json_put_number(json, "parent", is_successor ? node->last->parent : parent);
    put_if(json, "pid", node->pid, node->pid);
    put_if(json, "ppid", node->ppid, node->ppid);
    ms_json_put_text(json, "exe", ms_node_program(node));
    ms_json_put_texts(json, "argv", call ? call->argv : NULL, call ? call->argv_size : 0);
    ms_json_put_text(json, "origin", is_successor ? "exec" : ms_node_origin(node, NULL));
    ms_json_put_text(
            json, "made_by", is_successor ? ms_spawn_name_of(exec) : ms_node_made_by(node, NULL));
    put_ending(json, report, &node->ending);
    put_moment(json, "start_ns", report, is_successor ? ms_spawn_start(exec) : node->start);
    ms_json_put_null(json, "libc");
    ms_json_put_null(json, "allocator");
    ms_json_put_bool(json, "traced", false);
    ms_json_put_text(json, "why_not", node->why_not);
    ms_json_end(json);
}

void ms_report_put_processes(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_family *family = &report->reader->family;
    ms_json_key(json, "processes");
    ms_json_list(json);
    for (size_t i = 0; i < family->count; i++) {
        const struct ms_node *node = &family->nodes[i];
        for (const struct ms_process *image = node->first; image;
                image = ms_node_image_after(family, image))
            put_image(json, report, node, image);
        if (node->why_not)
            put_untraced(json, report, node);
    }
    ms_json_list_end(json);
}

static void put_caller(
        struct ms_json *json, const struct ms_report *report, const struct ms_spawn *call)
{
    const struct ms_node *caller = ms_family_caller(&report->reader->family, call);
    ms_json_put_text(json, "kind", ms_spawn_name_of(call));
    put_if(json, "pid", caller && caller->pid, caller ? caller->pid : 0);
}

static void put_property(
        struct ms_json *json, const char *key, const struct ms_spawn *call, unsigned tag)
{
    put_if(json, key, ms_spawn_has(call, tag), call->number[tag]);
}

static void put_call_site(
        struct ms_json *json, const struct ms_report *report, const struct ms_spawn *call)
{
    const struct ms_processes *processes = &report->reader->processes;
    const struct ms_process *image = ms_process_find(processes, call->process);
    char name[4096 + 32];
    if (ms_spawn_has(call, MS_SPAWN_P_CALLER)) {
        ms_process_locate(processes, image, call->number[MS_SPAWN_P_CALLER], name, sizeof name);
        ms_json_put_text(json, "caller", name);
    } else {
        ms_json_put_null(json, "caller");
    }
}

static void put_fork(
        struct ms_json *json, const struct ms_report *report, const struct ms_spawn *call)
{
    const struct ms_node *child = ms_family_child(&report->reader->family, call);
    uint64_t pid = child ? child->pid : call->number[MS_SPAWN_P_CHILD];
    const uint64_t *number = call->number;
    ms_json_begin(json);
    put_caller(json, report, call);
    put_if(json, "child", pid, pid);
    put_duration(json, "ns", report, ms_spawn_has(call, MS_SPAWN_P_COST), number[MS_SPAWN_P_COST]);
    put_property(json, "rss_kb", call, MS_SPAWN_P_RSS);
    put_property(json, "pte_kb", call, MS_SPAWN_P_PTE);
    put_property(json, "vsz_kb", call, MS_SPAWN_P_VSZ);
    put_moment(json, "at_ns", report, ms_spawn_start(call));
    ms_json_put_bool(json, "ok", !ms_spawn_failed(call));
    put_property(json, "errno", call, MS_SPAWN_P_ERRNO);
    put_property(json, "rss_anon_kb", call, MS_SPAWN_P_RSS_ANON);
    put_property(json, "rss_file_kb", call, MS_SPAWN_P_RSS_FILE);
    put_property(json, "rss_shmem_kb", call, MS_SPAWN_P_RSS_SHMEM);
    put_property(json, "threads", call, MS_SPAWN_P_THREADS);
    put_duration(json, "reading_ns", report, ms_spawn_has(call, MS_SPAWN_P_READING),
            number[MS_SPAWN_P_READING]);
    put_duration(
            json, "own_ns", report, ms_spawn_has(call, MS_SPAWN_P_OWN), number[MS_SPAWN_P_OWN]);
    put_duration(
            json, "latency_ns", report, child && child->has_latency, child ? child->latency : 0);
    put_call_site(json, report, call);
    ms_json_end(json);
}

static void put_exec(
        struct ms_json *json, const struct ms_report *report, const struct ms_exec *exec)
{
    const struct ms_spawn *call = exec->call;
    const uint64_t *number = call->number;
    uint64_t entry = ms_spawn_entry(call), begin = number[MS_SPAWN_P_GAP_BEGIN];
    bool has_gap = ms_spawn_has(call, MS_SPAWN_P_GAP_BEGIN) && begin <= entry;
    ms_json_begin(json);
    put_caller(json, report, call);
    ms_json_put_text(json, "path", call->path);
    if (exec->state == MS_EXEC_UNSURE)
        ms_json_put_null(json, "ok");
    else
        ms_json_put_bool(json, "ok", exec->state == MS_EXEC_HAPPENED);
    put_property(json, "errno", call, MS_SPAWN_P_ERRNO);
    put_duration(json, "ns_to_init", report, exec->has_to_init, exec->to_init);
    put_duration(json, "ns_to_main", report, exec->has_to_main, exec->to_main);
    put_duration(json, "ns", report, ms_spawn_has(call, MS_SPAWN_P_COST), number[MS_SPAWN_P_COST]);
    put_moment(json, "at_ns", report, ms_spawn_start(call));
    ms_json_put_texts(json, "argv", call->argv, call->argv_size);
    put_duration(json, "gap_ns", report, has_gap, entry - begin);
    put_property(json, "gap_dups", call, MS_SPAWN_P_GAP_DUPS);
    put_property(json, "gap_closes", call, MS_SPAWN_P_GAP_CLOSES);
    put_property(json, "gap_opens", call, MS_SPAWN_P_GAP_OPENS);
    ms_json_end(json);
}

static void put_wait(
        struct ms_json *json, const struct ms_report *report, const struct ms_spawn *call)
{
    ms_json_begin(json);
    put_caller(json, report, call);
    put_property(json, "child", call, MS_SPAWN_P_CHILD);
    put_property(json, "status", call, MS_SPAWN_P_STATUS);
    put_duration(
            json, "ns", report, ms_spawn_has(call, MS_SPAWN_P_COST), call->number[MS_SPAWN_P_COST]);
    put_property(json, "utime_us", call, MS_SPAWN_P_UTIME);
    put_property(json, "stime_us", call, MS_SPAWN_P_STIME);
    put_property(json, "maxrss_kb", call, MS_SPAWN_P_MAXRSS);
    put_moment(json, "at_ns", report, ms_spawn_start(call));
    ms_json_end(json);
}

static bool makes_process(enum ms_spawn_class class)
{
    return class == MS_SPAWN_FORKS || class == MS_SPAWN_STARTS || class == MS_SPAWN_SHELLS;
}

static void put_forks(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_spawns *spawns = &report->reader->spawns;
    ms_json_key(json, "forks");
    ms_json_list(json);
    for (size_t i = 0; i < spawns->count; i++)
        if (makes_process(ms_spawn_class_of(&spawns->list[i])))
            put_fork(json, report, &spawns->list[i]);
    ms_json_list_end(json);
}

static void put_spawn_cost(struct ms_json *json, struct ms_forks *forks)
{
    static const char *const keys[MS_WAYS] = {"fork_exec", "vfork_exec", "posix_spawn"};
    ms_json_key(json, "spawn_cost");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_WAYS; i++) {
        struct ms_samples *samples = &forks->ways[i].to_main;
        ms_json_key(json, keys[i]);
        ms_json_begin(json);
        ms_json_put_number(json, "n", samples->count);
        ms_json_put_real(json, "p50_ns", ms_samples_quantile(samples, 0.5));
        ms_json_put_real(json, "p99_ns", ms_samples_quantile(samples, 0.99));
        ms_json_end(json);
    }
    ms_json_end(json);
}

void ms_report_put_spawns(struct ms_json *json, const struct ms_report *report)
{
    const struct ms_family *family = &report->reader->family;
    const struct ms_spawns *spawns = &report->reader->spawns;
    put_forks(json, report);
    ms_forks_put_model(json, &report->forks->all.model);
    ms_json_key(json, "execs");
    ms_json_list(json);
    for (size_t i = 0; i < family->exec_count; i++)
        put_exec(json, report, &family->execs[i]);
    ms_json_list_end(json);
    put_spawn_cost(json, &report->forks->all);
    ms_json_key(json, "waits");
    ms_json_list(json);
    for (size_t i = 0; i < spawns->count; i++)
        if (ms_spawn_class_of(&spawns->list[i]) == MS_SPAWN_WAITS)
            put_wait(json, report, &spawns->list[i]);
    ms_json_list_end(json);
}
