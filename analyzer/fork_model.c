// SPDX-License-Identifier: MIT
// The fit. Costs of fork have a long tail (preemption, page reclaim), and most traces have many
// calls at few sizes. So calls of about one size form a level, at most 129 of them, which has a
// median cost; and through the levels goes the line of Theil and Sen, whose slope is the median of
// the slopes of all pairs, each with the weight of its distance and its calls:
//
//     cost |                 o       sort calls by size
//          |             o  /        cut into levels        -> (size, median cost, calls)
//          |        o   /            slopes of level pairs  -> weighted median: slope
//          |   o   /                 cost - slope * size    -> median over all calls: base
//          +------------- size
//
// The weight keeps pairs that lie close together, whose slopes are noise, from outvoting the rest
// (Jaeckel 1972). Nothing is sampled: the number of levels, not of calls, is squared.
#include "fork_model.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"

#define LEVELS_MAX 129
#define LEVELS_MIN 3
// Sizes closer than this are the same: two page tables, and the 4 MiB that they map.
#define PTE_STEP_KB 8
#define RSS_STEP_KB 4096
// Sizes must differ by that share of the greatest for a line.
#define SPREAD_MIN 0.1
// Calls off the line by more than this many standard deviations (told by the median deviation,
// relative to the cost) are outliers.
#define OUTLIER 5
// A line that explains less than this explains nothing.
#define R2_MIN 0.5
// Lines whose r2 differ by no more explain alike.
#define R2_MARGIN 0.02
// Untouched memory: calls of a group, the least difference in size, and the change of cost that is
// none.
#define GROUP_MIN      5
#define UNTOUCHED_KB   (64 * 1024)
#define UNCHANGED      0.15
#define UNCHANGED_COST 0.1

struct xy {
    double x, y;
};

struct level {
    double x, y; // medians
    double n;
};

struct slope {
    double value;
    double weight;
};

static int by_x(const void *a, const void *b)
{
    const struct xy *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_slope(const void *a, const void *b)
{
    return by_number(&((const struct slope *)a)->value, &((const struct slope *)b)->value);
}

// The median of `n` numbers, which get sorted.
static double median(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, by_number);
    return n % 2 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

static double weighted_median(struct slope *slopes, size_t n)
{
    double all = 0, sum = 0;
    qsort(slopes, n, sizeof *slopes, by_slope);
    for (size_t i = 0; i < n; i++)
        all += slopes[i].weight;
    for (size_t i = 0; i < n; i++) {
        sum += slopes[i].weight;
        if (sum == all / 2 && i + 1 < n)
            return (slopes[i].value + slopes[i + 1].value) / 2;
        if (sum > all / 2)
            return slopes[i].value;
    }
    return NAN;
}

// Where the level that begins at points[at] ends. The points are sorted.
static size_t level_end(const struct xy *points, size_t n, size_t at, double step)
{
    double first = points[at].x;
    while (at < n && points[at].x <= first + step)
        at++;
    return at;
}

static double level_step(const struct xy *points, size_t n, double step)
{
    return fmax(step, (points[n - 1].x - points[0].x) / (LEVELS_MAX - 1));
}

// Returns the number of levels. `room` has space for n numbers.
static size_t find_levels(
        const struct xy *points, size_t n, double step, double *room, struct level *levels)
{
    size_t count = 0;
    for (size_t at = 0, end; at < n && count < LEVELS_MAX; at = end) {
        struct level *level = &levels[count++];
        end = level_end(points, n, at, step);
        for (size_t i = at; i < end; i++)
            room[i - at] = points[i].y;
        level->x = points[at + (end - at) / 2].x;
        level->y = median(room, end - at);
        level->n = (double)(end - at);
    }
    return count;
}

static double slope_of(const struct level *levels, size_t count)
{
    struct slope *slopes = ms_memory_zeroed(count * (count - 1) / 2, sizeof *slopes);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            double distance = levels[j].x - levels[i].x;
            slopes[n++] = (struct slope){
                    (levels[j].y - levels[i].y) / distance, distance * levels[i].n * levels[j].n};
        }
    }
    double slope = weighted_median(slopes, n);
    free(slopes);
    return slope;
}

static double residual(const struct ms_line *line, const struct xy *point)
{
    return point->y - line->base_ns - line->slope_ns * point->x;
}

// Costs scatter in proportion to themselves. What a residual is compared with.
static double scale_of(const struct ms_line *line, const struct xy *point, double least)
{
    return fmax(line->base_ns + line->slope_ns * point->x, least);
}

// The residual, as a share of the cost, from which on a call is an outlier.
static double outlier_limit(
        const struct ms_line *line, const struct xy *points, double least, double *room)
{
    for (size_t i = 0; i < line->n; i++)
        room[i] = fabs(residual(line, &points[i])) / scale_of(line, &points[i], least);
    // 1.4826 median deviations are a standard deviation. The rest is the error of the arithmetic.
    return OUTLIER * 1.4826 * median(room, line->n) + 1e-6;
}

static void judge(struct ms_line *line, const struct xy *points, double *room)
{
    double sum = 0, total = 0, left = 0;
    for (size_t i = 0; i < line->n; i++)
        room[i] = points[i].y;
    double least = fmax(median(room, line->n) / 10, 1);
    double limit = outlier_limit(line, points, least, room);
    size_t kept = 0;
    for (size_t i = 0; i < line->n; i++) {
        room[i] = fabs(residual(line, &points[i])) / scale_of(line, &points[i], least);
        if (room[i] > limit)
            continue;
        sum += points[i].y;
        kept++;
    }
    for (size_t i = 0; i < line->n; i++) {
        if (room[i] > limit)
            continue;
        left += pow(residual(line, &points[i]), 2);
        total += pow(points[i].y - sum / (double)kept, 2);
    }
    line->outliers = line->n - kept;
    line->r2 = total > 0 ? fmax(0, 1 - left / total) : NAN;
}

// Sorts the points.
static struct ms_line fit_line(struct xy *points, size_t n, double step)
{
    struct level levels[LEVELS_MAX];
    struct ms_line line = {.base_ns = NAN, .slope_ns = NAN, .least_kb = NAN, .r2 = NAN, .n = n};
    if (n == 0)
        return line;
    qsort(points, n, sizeof *points, by_x);
    double *room = ms_memory_zeroed(n, sizeof *room);
    line.levels = find_levels(points, n, level_step(points, n, step), room, levels);
    if (line.levels >= LEVELS_MIN &&
            points[n - 1].x - points[0].x >= SPREAD_MIN * points[n - 1].x) {
        line.is_known = true;
        line.least_kb = points[0].x;
        line.slope_ns = slope_of(levels, line.levels);
        for (size_t i = 0; i < n; i++)
            room[i] = points[i].y - line.slope_ns * points[i].x;
        line.base_ns = median(room, n);
        judge(&line, points, room);
        line.explains = line.slope_ns > 0 && line.r2 >= R2_MIN;
    }
    free(room);
    return line;
}

// Whether both explain it, and neither better: the one is the other's size.
static bool find_tie(const struct ms_fork_model *model)
{
    return model->by_pte.explains && model->by_rss.explains &&
           fabs(model->by_pte.r2 - model->by_rss.r2) <= R2_MARGIN;
}

// Of two that explain it alike page tables are what is copied, and the cause. But some of them are
// there before anything is touched and are not copied: that can put the line below 0 at its
// beginning, where the one over resident memory is of more use.
static enum ms_fork_cause find_cause(const struct ms_fork_model *model)
{
    const struct ms_line *pte = &model->by_pte, *rss = &model->by_rss;
    if (!pte->explains && !rss->explains)
        return MS_FORK_CAUSE_UNKNOWN;
    if (model->is_tie)
        return pte->base_ns < 0 && rss->base_ns >= 0 ? MS_FORK_CAUSE_RSS : MS_FORK_CAUSE_PTE;
    if (!rss->explains || (pte->explains && pte->r2 > rss->r2))
        return MS_FORK_CAUSE_PTE;
    return MS_FORK_CAUSE_RSS;
}

// The widest gap between neighbours of sorted points that leaves enough of them on both sides:
// where the upper side begins, 0 if there is none.
static size_t widest_gap(const struct xy *points, size_t n)
{
    size_t widest = 0;
    double most = 0;
    for (size_t i = GROUP_MIN; i + GROUP_MIN <= n; i++) {
        if (points[i].x - points[i - 1].x <= most)
            continue;
        most = points[i].x - points[i - 1].x;
        widest = i;
    }
    return widest;
}

// Compares the calls on both sides of the widest gap in virtual size: points of (VmSize, cost).
static struct ms_untouched compare_sides(struct xy *points, size_t n, double *room)
{
    struct ms_untouched found = {.touched_ns = NAN};
    qsort(points, n, sizeof *points, by_x);
    size_t gap = widest_gap(points, n), begin = 0;
    for (unsigned side = 0; gap && side < 2; side++) {
        size_t count = side ? n - gap : gap;
        found.n[side] = count;
        found.vsz_kb[side] = points[begin + count / 2].x;
        for (size_t i = 0; i < count; i++)
            room[i] = points[begin + i].y;
        found.ns[side] = median(room, count);
        begin += count;
    }
    return found;
}

static bool is_unchanged(const struct ms_untouched *untouched)
{
    double change = fabs(untouched->ns[1] - untouched->ns[0]);
    return change <= UNCHANGED * untouched->ns[0] ||
           change <= UNCHANGED_COST * untouched->touched_ns;
}

// Looks at calls of one level of page tables: `room` has space for as many pairs and numbers.
static void compare_level(struct ms_fork_model *model, const struct ms_fork_point *const *calls,
        size_t n, struct xy *pairs, double *room)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (calls[i]->vsz_kb > 0)
            pairs[known++] = (struct xy){calls[i]->vsz_kb, calls[i]->ns};
    struct ms_untouched found = compare_sides(pairs, known, room);
    double difference = found.vsz_kb[1] - found.vsz_kb[0];
    if (difference < UNTOUCHED_KB ||
            difference <= model->untouched.vsz_kb[1] - model->untouched.vsz_kb[0])
        return;
    if (model->by_rss.explains)
        found.touched_ns = model->by_rss.slope_ns * difference;
    found.is_known = is_unchanged(&found);
    found.pte_kb = calls[n / 2]->pte_kb;
    if (found.is_known)
        model->untouched = found;
}

static int by_pte(const void *a, const void *b)
{
    return by_number(&(*(const struct ms_fork_point *const *)a)->pte_kb,
            &(*(const struct ms_fork_point *const *)b)->pte_kb);
}

static void find_untouched(
        struct ms_fork_model *model, const struct ms_fork_point *points, size_t n, struct xy *pairs)
{
    const struct ms_fork_point **calls = ms_memory_zeroed(n, sizeof *calls);
    double *room = ms_memory_zeroed(n, sizeof *room);
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (points[i].pte_kb > 0)
            calls[known++] = &points[i];
    qsort(calls, known, sizeof *calls, by_pte);
    for (size_t at = 0, end; at < known; at = end) {
        for (end = at; end < known && calls[end]->pte_kb <= calls[at]->pte_kb + PTE_STEP_KB;)
            end++;
        compare_level(model, calls + at, end - at, pairs, room);
    }
    free(room);
    free(calls);
}

// Fills pairs with the points whose size is known. Returns their number.
static size_t pairs_of(struct xy *pairs, const struct ms_fork_point *points, size_t n, bool is_pte)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        double x = is_pte ? points[i].pte_kb : points[i].rss_kb;
        if (x > 0)
            pairs[known++] = (struct xy){x, points[i].ns};
    }
    return known;
}

void ms_fork_model_fit(struct ms_fork_model *model, const struct ms_fork_point *points, size_t n)
{
    struct xy *pairs = ms_memory_zeroed(n ? n : 1, sizeof *pairs);
    *model = (struct ms_fork_model){.n = n};
    model->by_pte = fit_line(pairs, pairs_of(pairs, points, n, true), PTE_STEP_KB);
    model->by_rss = fit_line(pairs, pairs_of(pairs, points, n, false), RSS_STEP_KB);
    model->is_tie = find_tie(model);
    model->cause = find_cause(model);
    if (n)
        find_untouched(model, points, n, pairs);
    free(pairs);
}

const struct ms_line *ms_fork_model_best(const struct ms_fork_model *model)
{
    const struct ms_line *pte = &model->by_pte, *rss = &model->by_rss;
    switch (model->cause) {
    case MS_FORK_CAUSE_PTE:
        return pte;
    case MS_FORK_CAUSE_RSS:
        return rss;
    case MS_FORK_CAUSE_UNKNOWN:
        break;
    }
    if (!pte->is_known || (rss->is_known && rss->r2 > pte->r2))
        return rss->is_known ? rss : NULL;
    return pte;
}

double ms_fork_model_ns(const struct ms_fork_model *model, double pte_kb, double rss_kb)
{
    const struct ms_line *line = ms_fork_model_best(model);
    double size = line == &model->by_pte ? pte_kb : rss_kb;
    if (model->cause == MS_FORK_CAUSE_UNKNOWN || size <= 0)
        return NAN;
    return line->base_ns + line->slope_ns * size;
}

const char *ms_fork_cause_name(enum ms_fork_cause cause)
{
    switch (cause) {
    case MS_FORK_CAUSE_PTE:
        return "VmPTE";
    case MS_FORK_CAUSE_RSS:
        return "RSS";
    case MS_FORK_CAUSE_UNKNOWN:
        break;
    }
    return NULL;
}
