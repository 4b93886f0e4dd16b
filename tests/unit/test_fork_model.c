// SPDX-License-Identifier: MIT
// fork_model.h: lines that are known are found, outliers do not move them, and nothing is said of
// data that says nothing.
#include "fork_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "guard.h"

#define BASE_NS   30000.0
#define PTE_NS    2500.0 // per KiB
#define SMALL_PTE 44.0
#define SMALL_RSS 1400.0
#define SMALL_VSZ 2600.0

// A process with that much touched and mapped: page tables take a 512th of what is touched.
static struct ms_fork_point point(double touched_mib, double untouched_mib)
{
    double pte_kb = SMALL_PTE + touched_mib * 2;
    return (struct ms_fork_point){
            .ns = BASE_NS + PTE_NS * pte_kb,
            .rss_kb = SMALL_RSS + touched_mib * 1024,
            .pte_kb = pte_kb,
            .vsz_kb = SMALL_VSZ + (touched_mib + untouched_mib) * 1024,
    };
}

static double noise(uint64_t *seed)
{
    return (double)(guard_random(seed) % 2001) / 1000 - 1;
}

static void near(double value, double wanted, double share)
{
    if (!(fabs(value - wanted) <= share * fabs(wanted)))
        fail_msg("%g instead of %g", value, wanted);
}

static void an_exact_line(void **state)
{
    (void)state;
    struct ms_fork_point points[8];
    struct ms_fork_model model;
    for (unsigned i = 0; i < 8; i++)
        points[i] = point(16.0 * i, 0);
    ms_fork_model_fit(&model, points, 8);
    assert_true(model.by_pte.is_known && model.by_rss.is_known);
    assert_int_equal(model.by_pte.levels, 8);
    assert_int_equal(model.by_pte.n, 8);
    assert_int_equal(model.by_pte.outliers, 0);
    near(model.by_pte.base_ns, BASE_NS, 1e-6);
    near(model.by_pte.slope_ns, PTE_NS, 1e-6);
    near(model.by_pte.r2, 1, 1e-9);
    near(model.by_rss.slope_ns * 1024, PTE_NS * 2, 1e-6);
    assert_int_equal(model.cause, MS_FORK_CAUSE_PTE);
    near(ms_fork_model_ns(&model, 1000, 0), BASE_NS + PTE_NS * 1000, 1e-6);
}

// A line does not depend on the order of the calls.
static void any_order(void **state)
{
    (void)state;
    struct ms_fork_point points[60], shuffled[60];
    struct ms_fork_model model, other;
    uint64_t seed = 61;
    for (unsigned i = 0; i < 60; i++) {
        points[i] = point(i, 0);
        points[i].ns *= 1 + 0.1 * noise(&seed);
        shuffled[i * 7 % 60] = points[i];
    }
    ms_fork_model_fit(&model, points, 60);
    ms_fork_model_fit(&other, shuffled, 60);
    near(other.by_pte.slope_ns, model.by_pte.slope_ns, 1e-12);
    near(other.by_pte.base_ns, model.by_pte.base_ns, 1e-12);
    near(other.by_pte.r2, model.by_pte.r2, 1e-9);
}

// A fifth of the calls takes ten milliseconds longer, those of the largest process among them.
static void outliers_do_not_move_it(void **state)
{
    (void)state;
    struct ms_fork_point points[100];
    struct ms_fork_model model;
    uint64_t seed = 62;
    for (unsigned i = 0; i < 100; i++) {
        points[i] = point(10.0 * i, 0);
        points[i].ns *= 1 + 0.05 * noise(&seed);
        if (i % 5 == 4)
            points[i].ns += 1e7;
    }
    ms_fork_model_fit(&model, points, 100);
    near(model.by_pte.slope_ns, PTE_NS, 0.1);
    near(ms_fork_model_ns(&model, 1000, 0), BASE_NS + PTE_NS * 1000, 0.1);
    assert_int_equal(model.by_pte.outliers, 20);
    assert_true(model.by_pte.r2 > 0.9);
}

// Costs scatter in proportion: those of few large processes are no outliers beside many small ones.
static void large_ones_are_no_outliers(void **state)
{
    (void)state;
    enum { SMALL = 600, LARGE = 50, ALL = SMALL + 2 * LARGE };
    static struct ms_fork_point points[ALL];
    struct ms_fork_model model;
    uint64_t seed = 63;
    for (unsigned i = 0; i < ALL; i++) {
        points[i] = point(i < SMALL ? 0 : i < SMALL + LARGE ? 64 : 256, 0);
        points[i].ns *= 1 + 0.1 * noise(&seed);
    }
    ms_fork_model_fit(&model, points, ALL);
    assert_int_equal(model.by_pte.outliers, 0);
    assert_int_equal(model.by_pte.levels, 3);
    near(model.by_pte.slope_ns, PTE_NS, 0.05);
    assert_true(model.by_pte.r2 > 0.95);
}

// One size is left out, the others tell what it costs.
static void a_size_is_predicted(void **state)
{
    (void)state;
    enum { EACH = 50 };
    static const double touched[] = {0, 32, 64};
    struct ms_fork_point points[3 * EACH];
    struct ms_fork_model model;
    uint64_t seed = 64;
    for (unsigned i = 0; i < 3 * EACH; i++) {
        points[i] = point(touched[i / EACH], 0);
        points[i].ns *= 1 + 0.2 * noise(&seed);
    }
    ms_fork_model_fit(&model, points, 3 * EACH);
    struct ms_fork_point large = point(256, 0);
    near(ms_fork_model_ns(&model, large.pte_kb, large.rss_kb), large.ns, 0.2);
}

static void nothing_is_said(const struct ms_fork_point *points, size_t n)
{
    struct ms_fork_model model;
    struct ms_text text = {.width = 80};
    char line[MS_FORK_SENTENCE];
    ms_fork_model_fit(&model, points, n);
    assert_int_equal(model.n, n);
    assert_int_equal(model.cause, MS_FORK_CAUSE_UNKNOWN);
    assert_false(model.by_pte.is_known);
    assert_false(model.by_rss.is_known);
    assert_true(isnan(model.by_pte.base_ns) && isnan(model.by_pte.slope_ns));
    assert_true(isnan(ms_fork_model_ns(&model, 100, 100)));
    assert_null(ms_fork_model_best(&model));
    assert_non_null(strstr(ms_fork_model_cause(&model, &text, line), "is not known"));
    assert_null(ms_fork_model_untouched(&model, &text, line));
}

static void too_little_to_say(void **state)
{
    (void)state;
    struct ms_fork_point points[40];
    nothing_is_said(NULL, 0);
    for (unsigned i = 0; i < 40; i++)
        points[i] = point(100, 0);
    nothing_is_said(points, 1);
    nothing_is_said(points, 40); // all alike
    for (unsigned i = 0; i < 20; i++)
        points[i] = point(1, 0);
    nothing_is_said(points, 40); // two sizes
    for (unsigned i = 0; i < 40; i++)
        points[i] = point(10000 + 10 * (i % 4), 0);
    nothing_is_said(points, 40); // four sizes that hardly differ
    for (unsigned i = 0; i < 40; i++)
        points[i] = (struct ms_fork_point){.ns = 1000 * i};
    nothing_is_said(points, 40); // sizes that are not known
}

// A cost that goes with neither size: there are lines, and they explain nothing.
static void chance_explains_nothing(void **state)
{
    (void)state;
    struct ms_fork_point points[200];
    struct ms_fork_model model;
    struct ms_text text = {.width = 80};
    char line[MS_FORK_SENTENCE];
    uint64_t seed = 65;
    for (unsigned i = 0; i < 200; i++) {
        points[i] = point(i, 0);
        points[i].ns = 100000 + 20000 * noise(&seed);
    }
    ms_fork_model_fit(&model, points, 200);
    assert_true(model.by_pte.is_known);
    assert_true(model.by_pte.r2 < 0.2);
    assert_int_equal(model.cause, MS_FORK_CAUSE_UNKNOWN);
    assert_true(isnan(ms_fork_model_ns(&model, 100, 100)));
    assert_ptr_equal(strstr(ms_fork_model_cause(&model, &text, line), "Neither"), line);
}

// Constant costs have no variance to explain.
static void no_variance(void **state)
{
    (void)state;
    struct ms_fork_point points[10];
    struct ms_fork_model model;
    for (unsigned i = 0; i < 10; i++) {
        points[i] = point(50 * i, 0);
        points[i].ns = 1000;
    }
    ms_fork_model_fit(&model, points, 10);
    assert_true(model.by_pte.is_known && model.by_pte.slope_ns == 0);
    assert_true(isnan(model.by_pte.r2));
    assert_int_equal(model.cause, MS_FORK_CAUSE_UNKNOWN);
}

// Shared memory is resident and has no page tables that fork copies: RSS misleads, VmPTE does not.
static void page_tables_are_the_cause(void **state)
{
    (void)state;
    struct ms_fork_point points[100];
    struct ms_fork_model model;
    for (unsigned i = 0; i < 100; i++) {
        points[i] = point(4 * (i % 10), 0);
        points[i].rss_kb += 100 * 1024 * (i / 10 % 5);
    }
    ms_fork_model_fit(&model, points, 100);
    assert_int_equal(model.cause, MS_FORK_CAUSE_PTE);
    assert_true(model.by_rss.r2 < 0.5);
    // With sizes the other way round it is the other way round.
    for (unsigned i = 0; i < 100; i++)
        points[i].pte_kb = SMALL_PTE + 20 * (i / 10 % 5), points[i].rss_kb = points[i].ns;
    ms_fork_model_fit(&model, points, 100);
    assert_int_equal(model.cause, MS_FORK_CAUSE_RSS);
    assert_string_equal(ms_fork_cause_name(model.cause), "RSS");
}

// The page tables that a small process has are not copied: the line over VmPTE meets size 0 below
// cost 0. The one over RSS is then the more useful one, and the sentence says that both explain it.
static void base_below_zero(void **state)
{
    (void)state;
    struct ms_fork_point points[60];
    struct ms_fork_model model;
    struct ms_text text = {.width = 80};
    char line[MS_FORK_SENTENCE];
    for (unsigned i = 0; i < 60; i++) {
        points[i] = point(64 * (i % 3), 0);
        points[i].ns -= PTE_NS * SMALL_PTE;
    }
    ms_fork_model_fit(&model, points, 60);
    assert_true(model.by_pte.base_ns < 0 && model.by_rss.base_ns > 0);
    assert_true(model.is_tie);
    assert_int_equal(model.cause, MS_FORK_CAUSE_RSS);
    ms_fork_model_cause(&model, &text, line);
    assert_ptr_equal(
            strstr(line, "VmPTE and RSS alike explain the cost: 30.0 us at 1.37 MiB"), line);
    assert_non_null(strstr(line, "5.00 us for each MiB more; r2 1.00 over 60 calls at 3 sizes, 0"));
    assert_non_null(strstr(line, "by page tables it is 2.50 us for each KiB with r2 1.00."));
    for (unsigned i = 0; i < 60; i++)
        points[i].rss_kb = SMALL_RSS;
    ms_fork_model_fit(&model, points, 60);
    assert_int_equal(model.cause, MS_FORK_CAUSE_PTE);
    ms_fork_model_cause(&model, &text, line);
    assert_ptr_equal(strstr(line, "VmPTE explains the cost: 30.0 us at 44.0 KiB"), line);
    assert_non_null(strstr(line, "; the sizes by RSS differ too little to tell."));
}

static void fill_states(struct ms_fork_point *points, size_t each, double extra_ns)
{
    for (size_t i = 0; i < each; i++) {
        points[i] = point(0, 0);
        points[each + i] = point(64, 0);
        points[2 * each + i] = point(256, 0);
        points[3 * each + i] = point(0, 256);
        points[3 * each + i].ns += extra_ns;
    }
}

static void untouched_memory_does_not_matter(void **state)
{
    (void)state;
    struct ms_fork_point points[40];
    struct ms_fork_model model;
    struct ms_text text = {.width = 80};
    char line[MS_FORK_SENTENCE];
    fill_states(points, 10, 1000);
    ms_fork_model_fit(&model, points, 40);
    const struct ms_untouched *untouched = &model.untouched;
    assert_true(untouched->is_known);
    assert_int_equal(untouched->n[0], 10);
    assert_int_equal(untouched->n[1], 10);
    near(untouched->pte_kb, SMALL_PTE, 1e-9);
    near(untouched->vsz_kb[1] - untouched->vsz_kb[0], 256 * 1024, 1e-9);
    near(untouched->ns[1] - untouched->ns[0], 1000, 1e-6);
    near(untouched->touched_ns, 512 * PTE_NS, 0.01);
    assert_non_null(ms_fork_model_untouched(&model, &text, line));
    assert_non_null(strstr(line, "256 MiB more of VmSize (259 MiB instead of 2.54 MiB)"));
    assert_non_null(strstr(line, "touched it would have added 1.28 ms."));
}

static void no_untouched_memory(void **state)
{
    (void)state;
    struct ms_fork_point points[40];
    struct ms_fork_model model;
    fill_states(points, 10, 1e6); // it did matter
    ms_fork_model_fit(&model, points, 40);
    assert_false(model.untouched.is_known);
    fill_states(points, 4, 0); // too few calls
    ms_fork_model_fit(&model, points, 16);
    assert_false(model.untouched.is_known);
    fill_states(points, 10, 0);
    for (unsigned i = 30; i < 40; i++)
        points[i].vsz_kb = SMALL_VSZ + 32 * 1024; // too little of it
    ms_fork_model_fit(&model, points, 40);
    assert_false(model.untouched.is_known);
}

// A hundred thousand calls at as many sizes: not every pair of them is looked at.
static void many_calls(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct ms_fork_point *points = calloc(MANY, sizeof *points);
    struct ms_fork_model model;
    uint64_t seed = 66;
    assert_non_null(points);
    for (unsigned i = 0; i < MANY; i++) {
        points[i] = point((double)(guard_random(&seed) % 100000) / 50, 0);
        points[i].ns *= 1 + 0.3 * noise(&seed);
        if (i % 10 == 0)
            points[i].ns *= 20;
    }
    clock_t begin = clock();
    ms_fork_model_fit(&model, points, MANY);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5); // sanitizers and valgrind too
    assert_true(model.by_pte.levels > 100 && model.by_pte.levels <= 129);
    near(model.by_pte.slope_ns, PTE_NS, 0.1);
    assert_true(model.by_pte.outliers >= 9000 && model.by_pte.outliers <= 11000);
    free(points);
}

// Numbers of a hostile trace.
static void absurd_sizes(void **state)
{
    (void)state;
    const double wide = 18446744073709551615.0;
    struct ms_fork_point points[12];
    struct ms_fork_model model;
    struct ms_text text = {.width = 80};
    char line[MS_FORK_SENTENCE];
    for (unsigned i = 0; i < 12; i++)
        points[i] = (struct ms_fork_point){
                .ns = i % 2 ? wide : 0, .rss_kb = wide - i * 1e18, .pte_kb = i + 1, .vsz_kb = wide};
    points[3].pte_kb = wide;
    for (unsigned i = 6; i < 12; i++)
        points[i].vsz_kb = 1;
    ms_fork_model_fit(&model, points, 12);
    ms_fork_model_cause(&model, &text, line);
    ms_fork_model_untouched(&model, &text, line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(an_exact_line),
            cmocka_unit_test(any_order),
            cmocka_unit_test(outliers_do_not_move_it),
            cmocka_unit_test(large_ones_are_no_outliers),
            cmocka_unit_test(a_size_is_predicted),
            cmocka_unit_test(too_little_to_say),
            cmocka_unit_test(chance_explains_nothing),
            cmocka_unit_test(no_variance),
            cmocka_unit_test(page_tables_are_the_cause),
            cmocka_unit_test(base_below_zero),
            cmocka_unit_test(untouched_memory_does_not_matter),
            cmocka_unit_test(no_untouched_memory),
            cmocka_unit_test(many_calls),
            cmocka_unit_test(absurd_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
