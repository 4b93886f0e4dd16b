// SPDX-License-Identifier: MIT
// memspy forks --json: one object. fork_model, spawn_cost and forks are as in report --json; the
// figures of the whole and of each group have the same keys.
#include "forks.h"

#include <math.h>

#include "out_json.h"

// A member with the quantiles of some samples, all null without any.
static void put_samples(struct ms_json *json, const char *key, struct ms_samples *samples)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    ms_json_key(json, key);
    ms_json_begin(json);
    ms_json_put_number(json, "n", samples->count);
    ms_json_put_real(json, "sum", samples->count ? samples->sum : NAN);
    for (unsigned i = 0; i < 4; i++)
        ms_json_put_real(json, quantiles[i].key, ms_samples_quantile(samples, quantiles[i].q));
    ms_json_end(json);
}

static void put_histogram(struct ms_json *json, const char *key, const struct ms_samples *samples)
{
    size_t counts[MS_FORK_OCTAVES];
    ms_forks_octaves(samples, counts);
    ms_json_key(json, key);
    ms_json_list(json);
    for (unsigned i = 0; i < MS_FORK_OCTAVES; i++) {
        if (!counts[i])
            continue;
        ms_json_list(json);
        ms_json_real(json, i ? ldexp(1, (int)i) : 0);
        ms_json_real(json, ldexp(1, (int)i + 1));
        ms_json_number(json, counts[i]);
        ms_json_list_end(json);
    }
    ms_json_list_end(json);
}

static void put_calls(struct ms_json *json, struct ms_forks *forks)
{
    ms_json_key(json, "calls");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_FORK_KINDS; i++) {
        struct ms_fork_kind *kind = &forks->kinds[i];
        if (!kind->calls && !kind->failed)
            continue;
        ms_json_key(json, ms_spawn_name(i));
        ms_json_begin(json);
        ms_json_put_number(json, "calls", kind->calls);
        ms_json_put_number(json, "failed", kind->failed);
        ms_json_put_real(json, "failed_ns", kind->failed_ns);
        put_samples(json, "ns", &kind->ns);
        ms_json_end(json);
    }
    ms_json_end(json);
}

static void put_buckets(
        struct ms_json *json, const char *key, const struct ms_forks *forks, bool by_pte)
{
    struct ms_fork_bucket buckets[MS_FORK_BUCKETS];
    size_t count = ms_forks_buckets(forks, by_pte, buckets);
    ms_json_key(json, key);
    ms_json_list(json);
    for (size_t i = 0; i < count; i++) {
        double per_kb = ms_samples_quantile(&buckets[i].ns_per_kb, 0.5);
        ms_json_begin(json);
        ms_json_put_real(json, "from_kb", buckets[i].from_kb);
        ms_json_put_real(json, "to_kb", 2 * buckets[i].from_kb);
        put_samples(json, "ns", &buckets[i].ns);
        ms_json_put_real(
                json, by_pte ? "ns_per_kb_pte" : "ns_per_mb_rss", per_kb * (by_pte ? 1 : 1024));
        ms_json_end(json);
    }
    ms_json_list_end(json);
    ms_forks_free_buckets(buckets, count);
}

static void put_spawn_cost(struct ms_json *json, struct ms_forks *forks)
{
    static const char *const keys[MS_WAYS] = {"fork_exec", "vfork_exec", "posix_spawn"};
    ms_json_key(json, "spawn_cost");
    ms_json_begin(json);
    for (unsigned i = 0; i < MS_WAYS; i++) {
        struct ms_fork_way *way = &forks->ways[i];
        ms_json_key(json, keys[i]);
        ms_json_begin(json);
        ms_json_put_number(json, "n", way->to_main.count);
        ms_json_put_real(json, "p50_ns", ms_samples_quantile(&way->to_main, 0.5));
        ms_json_put_real(json, "p99_ns", ms_samples_quantile(&way->to_main, 0.99));
        ms_json_put_number(json, "children", way->children);
        put_samples(json, "parent_ns", &way->held);
        ms_json_end(json);
    }
    ms_json_end(json);
}

static void put_execs(struct ms_json *json, struct ms_fork_execs *execs)
{
    ms_json_key(json, "exec");
    ms_json_begin(json);
    ms_json_put_number(json, "happened", execs->happened);
    ms_json_put_number(json, "unsure", execs->unsure);
    put_samples(json, "ns_to_init", &execs->to_init);
    put_histogram(json, "hist_to_init", &execs->to_init);
    put_samples(json, "ns_to_main", &execs->to_main);
    put_histogram(json, "hist_to_main", &execs->to_main);
    ms_json_put_number(json, "failed", execs->failed);
    ms_json_put_real(json, "failed_ns", execs->failed_ns);
    ms_json_key(json, "failed_by_errno");
    ms_json_list(json);
    for (unsigned i = 0; i < MS_FORK_ERRORS && execs->errors[i].calls; i++) {
        ms_json_begin(json);
        ms_json_put_number(json, "errno", execs->errors[i].number);
        ms_json_put_number(json, "calls", execs->errors[i].calls);
        ms_json_end(json);
    }
    ms_json_list_end(json);
    ms_json_end(json);
}

static void put_gap(struct ms_json *json, struct ms_forks *forks)
{
    ms_json_key(json, "gap");
    ms_json_begin(json);
    put_samples(json, "ns", &forks->gap);
    ms_json_put_number(json, "dups", forks->gap_dups);
    ms_json_put_number(json, "closes", forks->gap_closes);
    ms_json_put_number(json, "opens", forks->gap_opens);
    ms_json_end(json);
}

static void put_figures(struct ms_json *json, struct ms_forks *forks)
{
    ms_json_put_real(json, "total_ns", ms_forks_total(forks));
    put_calls(json, forks);
    put_buckets(json, "by_rss", forks, false);
    put_buckets(json, "by_pte", forks, true);
    ms_forks_put_model(json, &forks->model);
    put_spawn_cost(json, forks);
    put_execs(json, &forks->execs);
    put_gap(json, forks);
    put_samples(json, "start_latency_ns", &forks->latency);
    put_samples(json, "proc_read_ns", &forks->reading);
}

static void put_line(struct ms_json *json, const char *key, const struct ms_line *line, bool is_pte)
{
    ms_json_key(json, key);
    ms_json_begin(json);
    ms_json_put_real(json, "base_ns", line->base_ns);
    ms_json_put_real(
            json, is_pte ? "ns_per_kb" : "ns_per_mb", line->slope_ns * (is_pte ? 1 : 1024));
    ms_json_put_real(json, "r2", line->r2);
    ms_json_put_number(json, "n", line->n);
    ms_json_put_number(json, "levels", line->levels);
    ms_json_put_number(json, "outliers", line->outliers);
    ms_json_end(json);
}

static void put_untouched(struct ms_json *json, const struct ms_untouched *untouched)
{
    if (!untouched->is_known) {
        ms_json_put_null(json, "untouched");
        return;
    }
    ms_json_key(json, "untouched");
    ms_json_begin(json);
    ms_json_put_real(json, "pte_kb", untouched->pte_kb);
    ms_json_put_real(json, "low_vsz_kb", untouched->vsz_kb[0]);
    ms_json_put_real(json, "high_vsz_kb", untouched->vsz_kb[1]);
    ms_json_put_real(json, "low_p50_ns", untouched->ns[0]);
    ms_json_put_real(json, "high_p50_ns", untouched->ns[1]);
    ms_json_put_number(json, "low_n", untouched->n[0]);
    ms_json_put_number(json, "high_n", untouched->n[1]);
    ms_json_put_real(json, "if_touched_ns", untouched->touched_ns);
    ms_json_end(json);
}

void ms_forks_put_model(struct ms_json *json, const struct ms_fork_model *model)
{
    const struct ms_line *best = ms_fork_model_best(model);
    ms_json_key(json, "fork_model");
    ms_json_begin(json);
    ms_json_put_real(json, "base_ns", best ? best->base_ns : NAN);
    ms_json_put_real(json, "ns_per_mb_rss", model->by_rss.slope_ns * 1024);
    ms_json_put_real(json, "ns_per_kb_pte", model->by_pte.slope_ns);
    ms_json_put_real(json, "r2", best ? best->r2 : NAN);
    ms_json_put_number(json, "n", model->n);
    put_line(json, "by_pte", &model->by_pte, true);
    put_line(json, "by_rss", &model->by_rss, false);
    ms_json_put_text(json, "explained_by", ms_fork_cause_name(model->cause));
    put_untouched(json, &model->untouched);
    ms_json_end(json);
}

// A number of the call; null if it was not told.
static void put_property(struct ms_json *json, const char *key, const struct ms_spawn *call,
        enum ms_spawn_property tag)
{
    if (ms_spawn_has(call, tag))
        ms_json_put_number(json, key, call->number[tag]);
    else
        ms_json_put_null(json, key);
}

static void put_call(struct ms_json *json, const struct ms_family *family,
        const struct ms_clock_fit *clock, const struct ms_spawn *call)
{
    const struct ms_node *caller = ms_family_caller(family, call);
    bool has_cost = ms_spawn_has(call, MS_SPAWN_P_COST);
    ms_json_begin(json);
    ms_json_put_text(json, "kind", ms_spawn_name_of(call));
    ms_json_put_number(json, "pid", caller ? caller->pid : 0);
    put_property(json, "child", call, MS_SPAWN_P_CHILD);
    ms_json_put_real(
            json, "ns", has_cost ? ms_clock_ns(clock, (double)call->number[MS_SPAWN_P_COST]) : NAN);
    put_property(json, "rss_kb", call, MS_SPAWN_P_RSS);
    put_property(json, "pte_kb", call, MS_SPAWN_P_PTE);
    put_property(json, "vsz_kb", call, MS_SPAWN_P_VSZ);
    ms_json_put_real(json, "at_ns", ms_clock_at(clock, ms_spawn_start(call)));
    put_property(json, "errno", call, MS_SPAWN_P_ERRNO);
    put_property(json, "threads", call, MS_SPAWN_P_THREADS);
    ms_json_end(json);
}

static void put_list(
        struct ms_json *json, const struct ms_family *family, const struct ms_clock_fit *clock)
{
    ms_json_key(json, "forks");
    ms_json_list(json);
    for (size_t i = 0; i < family->spawns->count; i++) {
        const struct ms_spawn *call = &family->spawns->list[i];
        if (call->number[MS_SPAWN_P_KIND] < MS_FORK_KINDS)
            put_call(json, family, clock, call);
    }
    ms_json_list_end(json);
}

static void put_groups(struct ms_json *json, struct ms_fork_groups *groups, enum ms_fork_by by)
{
    ms_json_put_text(json, "by", ms_fork_by_name(by));
    ms_json_key(json, "groups");
    ms_json_list(json);
    for (size_t i = 0; i < groups->count; i++) {
        struct ms_fork_group *group = &groups->list[i];
        ms_json_begin(json);
        ms_json_put_text(json, "name", *group->name ? group->name : NULL);
        if (by == MS_FORK_BY_PROCESS)
            ms_json_put_number(json, "pid", group->pid);
        put_figures(json, &group->forks);
        ms_json_end(json);
    }
    ms_json_list_end(json);
}

void ms_forks_print_json(struct ms_fork_groups *groups, enum ms_fork_by by,
        const struct ms_family *family, const struct ms_clock_fit *clock, const char *path)
{
    struct ms_json json;
    ms_json_open(&json, stdout, true);
    ms_json_begin(&json);
    ms_json_put_number(&json, "schema", 1);
    ms_json_key(&json, "trace");
    ms_json_begin(&json);
    ms_json_put_text(&json, "file", path);
    ms_json_put_number(&json, "start_mono_ns", clock->start_ns);
    ms_json_end(&json);
    put_figures(&json, &groups->all);
    put_groups(&json, groups, by);
    put_list(&json, family, clock);
    ms_json_end(&json);
    ms_json_close(&json);
}
