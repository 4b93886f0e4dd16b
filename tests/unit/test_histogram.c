// SPDX-License-Identifier: MIT
// histogram.h: every bound of every bucket, and what the format promises about widths.
#include <memspy/histogram.h>

#include "check.h"
#include "guard.h"

#define LIMIT (UINT64_C(1) << 40)

static void holds(uint64_t value)
{
    unsigned bucket = ms_hist_bucket(value);
    assert_true(bucket < MS_HIST_BUCKETS);
    assert_true(ms_hist_low(bucket) <= value);
    if (value < LIMIT)
        assert_true(value < ms_hist_low(bucket + 1));
}

static void every_bound(void **state)
{
    (void)state;
    for (unsigned b = 0; b < MS_HIST_BUCKETS; b++) {
        uint64_t low = ms_hist_low(b);
        assert_int_equal(ms_hist_bucket(low), b);
        assert_int_equal(ms_hist_bucket(ms_hist_low(b + 1) - 1), b);
        holds(low);
        if (b)
            assert_int_equal(ms_hist_bucket(low - 1), b - 1);
    }
}

static void bounds_rise(void **state)
{
    (void)state;
    assert_true(ms_hist_low(0) == 0);
    for (unsigned b = 0; b < MS_HIST_BUCKETS; b++)
        assert_true(ms_hist_low(b) < ms_hist_low(b + 1));
    assert_true(ms_hist_low(MS_HIST_BUCKETS) == LIMIT);
}

static void at_most_an_eighth_wide(void **state)
{
    (void)state;
    for (unsigned b = 0; b < MS_HIST_BUCKETS; b++) {
        uint64_t low = ms_hist_low(b), width = ms_hist_low(b + 1) - low;
        if (low < MS_HIST_SUB)
            assert_true(width == 1);
        else
            assert_true(width * 8 <= low);
    }
}

static void never_falls(void **state)
{
    (void)state;
    unsigned last = 0;
    for (uint64_t value = 0; value < 100000; value++) {
        unsigned bucket = ms_hist_bucket(value);
        assert_true(bucket == last || bucket == last + 1);
        last = bucket;
        holds(value);
    }
}

static void random_values(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (unsigned i = 0; i < 100000; i++)
        holds(guard_random_wide(&seed));
}

static void large_values_share_the_last(void **state)
{
    (void)state;
    assert_int_equal(ms_hist_bucket(LIMIT - 1), MS_HIST_BUCKETS - 1);
    assert_int_equal(ms_hist_bucket(LIMIT), MS_HIST_BUCKETS - 1);
    assert_int_equal(ms_hist_bucket(UINT64_MAX), MS_HIST_BUCKETS - 1);
}

// The examples of FORMAT.md: bucket 43 is 176 to 191.
static void written_down(void **state)
{
    (void)state;
    assert_int_equal(ms_hist_bucket(190), 43);
    assert_true(ms_hist_low(43) == 176);
    assert_true(ms_hist_low(44) == 192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(every_bound),
            cmocka_unit_test(bounds_rise),
            cmocka_unit_test(at_most_an_eighth_wide),
            cmocka_unit_test(never_falls),
            cmocka_unit_test(random_values),
            cmocka_unit_test(large_values_share_the_last),
            cmocka_unit_test(written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
