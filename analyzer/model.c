// SPDX-License-Identifier: MIT
// The rules. Each is one function over the totals or over one call site; a rule that holds adds a
// finding. Thresholds are counts that a program which does such a thing now and then stays below,
// and shares that a pattern has and a coincidence has not.
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "text.h"

// Times a pattern must repeat at one place before it is one.
#define REPEATS_MIN 16
// A thread arena grows once for every 128 KiB or so that it needs; 64 times is 8 MiB.
#define HEAP_GROWTHS_MIN 64
// A hot call site: its calls, and their share of all allocations in percent.
#define HOT_CALLS_MIN 10000
#define HOT_SHARE_MIN 1

// Timed calls that make a median worth comparing with.
#define MEDIAN_MIN 16

struct model {
    struct ms_findings *findings;
    const struct ms_totals *totals;
    const struct ms_clock_fit *clock;
    double lifetime_ns;
    bool is_exact;            // costs are of system calls alone: all of them could be saved
    struct ms_baseline alloc; // none in exact mode
    struct ms_baseline free;
    struct ms_text text; // UTF-8: the same texts go into JSON and to terminals
};

struct ms_baseline ms_model_baseline(const struct ms_totals *totals, bool frees)
{
    unsigned arena = frees ? MS_ROW_FREE + MS_FREE_ARENA : MS_ALLOC_ARENA;
    unsigned tcache = frees ? MS_ROW_FREE + MS_FREE_TCACHE : MS_ALLOC_TCACHE;
    const struct ms_row *rows = totals->counters.rows;
    if (totals->timed_calls[arena] >= MEDIAN_MIN)
        return (struct ms_baseline){"arena", ms_row_quantile(&rows[arena], 0.5)};
    if (totals->timed_calls[tcache] >= MEDIAN_MIN)
        return (struct ms_baseline){"thread cache", ms_row_quantile(&rows[tcache], 0.5)};
    return (struct ms_baseline){0};
}

struct ms_finding *ms_model_add(struct ms_findings *findings, const char *id, const char *advice,
        double saving_ns, double lifetime_ns)
{
    findings->list = ms_memory_grow(
            findings->list, findings->count + 1, &findings->capacity, sizeof *findings->list);
    struct ms_finding *finding = &findings->list[findings->count++];
    *finding = (struct ms_finding){.id = id, .advice = advice, .saving_ns = saving_ns};
    double share = lifetime_ns > 0 && saving_ns > 0 ? saving_ns / lifetime_ns : 0;
    finding->severity = share >= 0.10   ? MS_SEVERITY_CRITICAL
                        : share >= 0.01 ? MS_SEVERITY_WARNING
                                        : MS_SEVERITY_INFO;
    return finding;
}

static struct ms_finding *add(
        struct model *model, const char *id, double saving_ticks, const char *advice)
{
    double saving = ms_clock_ns(model->clock, saving_ticks);
    return ms_model_add(model->findings, id, advice, saving > 0 ? saving : 0, model->lifetime_ns);
}

static void set_title(const struct model *model, struct ms_finding *finding, const char *what,
        const struct ms_site *site)
{
    char name[160];
    ms_site_name(&model->totals->sites, site, name, sizeof name);
    snprintf(finding->title, sizeof finding->title, "%s at %s", what, name);
}

static const char *ns(const struct model *model, char *cell, double ticks)
{
    return ms_text_ns(&model->text, cell, ms_clock_ns(model->clock, ticks));
}

// Allocations of one size class made by mmap and undone by munmap, over and over.
static void rule_mmap_churn(struct model *model, const struct ms_site *site)
{
    uint64_t calls = site->paths[MS_ALLOC_MMAP];
    if (calls < REPEATS_MIN || 2 * site->munmap_calls < calls || !site->mmap_sizes)
        return;
    unsigned class = 0;
    for (unsigned i = 0; i < MS_SIZE_CLASSES; i++)
        if (site->mmap_sizes[i] > site->mmap_sizes[class])
            class = i;
    uint64_t alike = site->mmap_sizes[class];
    if (alike < REPEATS_MIN || 2 * alike < calls || class == 0)
        return;
    double cost = (double)(site->mmap_cost + site->munmap_cost);
    double cheap =
            (double)calls * model->alloc.ticks + (double)site->munmap_calls * model->free.ticks;
    if (cost <= cheap)
        return;
    struct ms_finding *finding = add(model, "mmap-churn", cost - cheap,
            "Reuse the buffer, or keep such blocks in the arena: mallopt(M_MMAP_THRESHOLD, ...) or "
            "glibc.malloc.mmap_threshold above their size. Setting that, M_TRIM_THRESHOLD or "
            "M_TOP_PAD by hand turns the threshold's own adjustment off.");
    set_title(model, finding, "blocks mapped and unmapped again and again", site);
    char cells[6][MS_CELL];
    uint64_t low = UINT64_C(1) << (class - 1);
    int size = snprintf(finding->evidence, sizeof finding->evidence,
            "%s allocations by mmap, %s of them of %s or more and below twice that; %s given back "
            "by munmap; %s a pair",
            ms_text_count(cells[0], calls), ms_text_count(cells[1], alike),
            ms_text_size(cells[2], low), ms_text_count(cells[3], site->munmap_calls),
            ns(model, cells[4],
                    (double)site->mmap_cost / (double)calls +
                            (double)site->munmap_cost / (double)site->munmap_calls));
    // A pair of medians of one path; none of two.
    if (model->alloc.path && model->alloc.path == model->free.path)
        snprintf(finding->evidence + size, sizeof finding->evidence - (size_t)size,
                ", where the %s takes %s", model->alloc.path,
                ns(model, cells[5], model->alloc.ticks + model->free.ticks));
}

// The main heap grows and is trimmed in turn.
static void rule_brk_churn(struct model *model)
{
    const struct ms_row *grow = &model->totals->counters.rows[MS_ALLOC_BRK];
    const struct ms_sum *trim = &model->totals->main_trims;
    if (grow->calls < REPEATS_MIN || trim->calls < REPEATS_MIN)
        return;
    double trim_cost = (double)trim->cost;
    double grow_cost =
            model->is_exact ? (double)model->totals->main_grows.cost : ms_row_total(grow);
    double cheap =
            (double)grow->calls * model->alloc.ticks + (double)trim->calls * model->free.ticks;
    char cells[4][MS_CELL];
    struct ms_finding *finding = add(model, "brk-churn", grow_cost + trim_cost - cheap,
            "Let the heap keep what it has: mallopt(M_TRIM_THRESHOLD, ...) above the size "
            "that comes and goes, mallopt(M_TOP_PAD, ...) to grow in larger steps; or the tunables "
            "glibc.malloc.trim_threshold and glibc.malloc.top_pad.");
    snprintf(finding->title, sizeof finding->title, "the heap grows and is trimmed in turn");
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s growths of %s and %s trims of %s on average", ms_text_count(cells[0], grow->calls),
            ns(model, cells[1], grow_cost / (double)grow->calls),
            ms_text_count(cells[2], trim->calls),
            ns(model, cells[3], trim_cost / (double)trim->calls));
}

// A thread arena that asks the kernel for a few pages at a time.
static void rule_heap_growth(struct model *model, const struct ms_site *site)
{
    uint64_t calls = site->paths[MS_ALLOC_HEAP];
    if (calls < HEAP_GROWTHS_MIN || 4 * site->heap_big < site->big_calls)
        return;
    // Small allocations grow an arena as a whole now and then; that is how it is meant.
    if (site->heap_big < HEAP_GROWTHS_MIN && 4 * calls < site->calls)
        return;
    char cells[5][MS_CELL];
    struct ms_finding *finding = add(model, "heap-growth",
            (double)site->heap_cost - (double)calls * model->alloc.ticks,
            "A thread's arena grows by just the pages an allocation needs, one mprotect each; "
            "M_TOP_PAD does not apply to it. Allocate in larger pieces, keep freed blocks for "
            "reuse, use the main arena (MALLOC_ARENA_MAX=1, at the price of its lock), or another "
            "allocator.");
    set_title(model, finding, "a thread's arena grows allocation by allocation", site);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s of %s allocations made the kernel extend the arena (%s of the %s above 4 KiB), "
            "%s each",
            ms_text_count(cells[0], calls), ms_text_count(cells[1], site->calls),
            ms_text_count(cells[2], site->heap_big), ms_text_count(cells[3], site->big_calls),
            ns(model, cells[4], (double)site->heap_cost / (double)calls));
}

// Zeroed memory that is fresh each time: every page is faulted in anew.
static void rule_calloc_fresh(struct model *model, const struct ms_site *site)
{
    if (site->calloc_fresh < REPEATS_MIN)
        return;
    struct ms_finding *finding = add(model, "calloc-fresh",
            (double)site->mmap_cost - (double)site->paths[MS_ALLOC_MMAP] * model->alloc.ticks,
            "Reuse the block and clear the part that was used: a fresh mapping costs a page fault "
            "for every page at its first touch, on top of the call.");
    char cells[2][MS_CELL];
    set_title(model, finding, "large callocs on fresh mappings", site);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s callocs of 128 KiB or more, %s pages in all to be faulted in at first touch (their "
            "time is not in the saving)",
            ms_text_count(cells[0], site->calloc_fresh),
            ms_text_count(cells[1], site->calloc_bytes / 4096));
}

// Medians of one allocation and one free on the path that serves most of the site's allocations,
// in ticks; 0 when they are not known.
static double pair_of(const struct model *model, const struct ms_site *site)
{
    static const unsigned frees[MS_ALLOC_PATHS] = {
            [MS_ALLOC_UNKNOWN] = MS_ROW_FREE + MS_FREE_UNKNOWN,
            [MS_ALLOC_TCACHE] = MS_ROW_FREE + MS_FREE_TCACHE,
            [MS_ALLOC_ARENA] = MS_ROW_FREE + MS_FREE_ARENA,
    };
    const struct ms_totals *totals = model->totals;
    unsigned path = 0;
    for (unsigned i = 1; i < MS_ALLOC_PATHS; i++)
        if (site->paths[i] > site->paths[path])
            path = i;
    if (!frees[path] || totals->timed_calls[path] < MEDIAN_MIN ||
            totals->timed_calls[frees[path]] < MEDIAN_MIN)
        return 0;
    return ms_row_quantile(&totals->counters.rows[path], 0.5) +
           ms_row_quantile(&totals->counters.rows[frees[path]], 0.5);
}

// A small block that the same function frees before its thread allocates anything else.
static void rule_hot_temporary(struct model *model, const struct ms_site *site, uint64_t all)
{
    if (site->small_calls < HOT_CALLS_MIN || 100 * site->small_calls < HOT_SHARE_MIN * all ||
            10 * site->small_temporary < 9 * site->small_calls)
        return;
    double pair = pair_of(model, site);
    if (pair == 0)
        return;
    char cells[3][MS_CELL];
    struct ms_finding *finding = add(model, "hot-temporary", (double)site->small_temporary * pair,
            "Put it on the stack, or allocate it once outside the loop and reuse it.");
    set_title(model, finding, "a small block allocated and freed at once, very often", site);
    snprintf(finding->evidence, sizeof finding->evidence,
            "%s allocations of at most 1 KiB, %s of them freed close by before the thread's next "
            "allocation; %s a pair",
            ms_text_count(cells[0], site->small_calls),
            ms_text_count(cells[1], site->small_temporary), ns(model, cells[2], pair));
}

// What a finding sorts by: an unknown saving is the least.
static double rank_of(const struct ms_finding *finding)
{
    return isfinite(finding->saving_ns) ? finding->saving_ns : -1;
}

static int by_saving(const void *a, const void *b)
{
    double x = rank_of(a), y = rank_of(b);
    return (x < y) - (x > y);
}

void ms_model_sort(struct ms_findings *findings)
{
    if (findings->count)
        qsort(findings->list, findings->count, sizeof *findings->list, by_saving);
}

void ms_model_find(struct ms_findings *findings, const struct ms_totals *totals,
        const struct ms_clock_fit *clock, double lifetime_ns)
{
    const struct ms_row *rows = totals->counters.rows;
    struct model model = {
            .findings = findings,
            .totals = totals,
            .clock = clock,
            .lifetime_ns = lifetime_ns,
            .is_exact = ms_totals_are_exact(totals),
            .text = {.has_utf8 = true},
    };
    if (!model.is_exact) {
        model.alloc = ms_model_baseline(totals, false);
        model.free = ms_model_baseline(totals, true);
    }
    uint64_t all = 0;
    for (unsigned i = 0; i < MS_ALLOC_PATHS; i++)
        all += rows[i].calls;
    for (size_t i = 1; i < totals->sites.count; i++) {
        const struct ms_site *site = &totals->sites.list[i];
        rule_mmap_churn(&model, site);
        rule_heap_growth(&model, site);
        rule_calloc_fresh(&model, site);
        rule_hot_temporary(&model, site, all);
    }
    rule_brk_churn(&model);
    ms_model_sort(findings);
}

const char *ms_severity_name(enum ms_severity severity)
{
    switch (severity) {
    case MS_SEVERITY_INFO:
        return "info";
    case MS_SEVERITY_WARNING:
        return "warning";
    case MS_SEVERITY_CRITICAL:
        return "critical";
    }
    return "info";
}

void ms_model_free(struct ms_findings *findings)
{
    free(findings->list);
    *findings = (struct ms_findings){0};
}
