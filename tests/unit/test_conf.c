// SPDX-License-Identifier: MIT
// What the shim reads from the environment. What it does not understand it says on stderr.
#include "check.h"

#include <conf.h>

#define ENVIRONMENT(...) ((char *[]){__VA_ARGS__, NULL})

static uint8_t usual; // what stands for a timing that is not given

static int begin(void **state)
{
    (void)state;
    if (!ms_conf_init(NULL))
        return 1;
    usual = ms_conf.timing_log2;
    return usual > 15;
}

static void nothing_set(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(ms_conf_init(i ? NULL : ENVIRONMENT("PATH=/bin", "MEMSPY_OUTER=1", "")));
        assert_string_equal(ms_conf.out, "memspy.%e.%p.mspy");
        assert_false(ms_conf.out_given);
        assert_null(ms_conf.join);
        assert_false(ms_conf.exact || ms_conf.large_tcache || ms_conf.huge_heaps);
        assert_int_equal(ms_conf.timing_log2, usual);
    }
}

static void everything_set(void **state)
{
    (void)state;
    assert_true(ms_conf_init(ENVIRONMENT("MEMSPY_OUT=x.%p", "MEMSPY_KERNEL=exact",
            "MEMSPY_TIMING=1", "MEMSPY_TRACE=0011:/tmp/x")));
    assert_string_equal(ms_conf.out, "x.%p");
    assert_true(ms_conf.out_given && ms_conf.exact);
    assert_int_equal(ms_conf.timing_log2, 0);
    assert_string_equal(ms_conf.join, "0011:/tmp/x");
}

static void empty_is_not_set(void **state)
{
    (void)state;
    assert_true(ms_conf_init(ENVIRONMENT("MEMSPY_OUT=", "MEMSPY_KERNEL=", "MEMSPY_TIMING=")));
    assert_string_equal(ms_conf.out, "memspy.%e.%p.mspy");
    assert_false(ms_conf.out_given || ms_conf.exact);
    assert_int_equal(ms_conf.timing_log2, usual);
}

static void timing(void **state)
{
    (void)state;
    static const struct {
        char *entry;
        uint8_t log2;
    } good[] = {{"MEMSPY_TIMING=1", 0}, {"MEMSPY_TIMING=2", 1}, {"MEMSPY_TIMING=32", 5},
            {"MEMSPY_TIMING=0064", 6}, {"MEMSPY_TIMING=16384", 14}, {"MEMSPY_TIMING=32768", 15}};
    char *const bad[] = {"MEMSPY_TIMING=0", "MEMSPY_TIMING=3", "MEMSPY_TIMING=65536",
            "MEMSPY_TIMING=-4", "MEMSPY_TIMING=8x", "MEMSPY_TIMING= 8", "MEMSPY_TIMING=4294967298",
            "MEMSPY_TIMING=18446744073709551618"};
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(ms_conf_init(ENVIRONMENT(good[i].entry)));
        assert_int_equal(ms_conf.timing_log2, good[i].log2);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(ms_conf_init(ENVIRONMENT(bad[i])));
        assert_int_equal(ms_conf.timing_log2, usual);
    }
}

static void kernel(void **state)
{
    (void)state;
    char *others[] = {"MEMSPY_KERNEL=exac", "MEMSPY_KERNEL=exactly", "MEMSPY_KERNEL=EXACT"};
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ms_conf_init(ENVIRONMENT(others[i])));
        assert_false(ms_conf.exact);
    }
}

static void tunables(void **state)
{
    (void)state;
    static const struct {
        char *entry;
        bool large, huge;
    } cases[] = {{"GLIBC_TUNABLES=glibc.malloc.tcache_max=8192", true, false},
            {"GLIBC_TUNABLES=glibc.malloc.perturb=1:glibc.malloc.tcache_max=8", true, false},
            {"GLIBC_TUNABLES=glibc.malloc.hugetlb=0", false, false},
            {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1", false, false},
            {"GLIBC_TUNABLES=glibc.malloc.hugetlb=2", false, true},
            {"GLIBC_TUNABLES=glibc.malloc.tcache_maximum=8", false, false},
            {"GLIBC_TUNABLES=", false, false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(ms_conf_init(ENVIRONMENT(cases[i].entry)));
        assert_int_equal(ms_conf.large_tcache, cases[i].large);
        assert_int_equal(ms_conf.huge_heaps, cases[i].huge);
    }
}

static void values(void **state)
{
    (void)state;
    char **environment = ENVIRONMENT("AB=1", "A", "A=2", "A=3", "=4");
    assert_string_equal(ms_conf_value(environment, "A"), "2");
    assert_string_equal(ms_conf_value(environment, "AB"), "1");
    assert_null(ms_conf_value(environment, "B"));
    assert_null(ms_conf_value(NULL, "A"));
}

static void switches(void **state)
{
    (void)state;
    assert_true(ms_conf_init(NULL));
    assert_true(ms_conf.follow && ms_conf.argv);
    assert_true(ms_conf_init(ENVIRONMENT("MEMSPY_FOLLOW=0", "MEMSPY_ARGV=1")));
    assert_true(!ms_conf.follow && ms_conf.argv);
    assert_true(ms_conf_init(ENVIRONMENT("MEMSPY_FOLLOW=", "MEMSPY_ARGV=0")));
    assert_true(ms_conf.follow && !ms_conf.argv);
    assert_true(ms_conf_init(ENVIRONMENT("MEMSPY_FOLLOW=no")));
    assert_true(ms_conf.follow); // said on stderr
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(nothing_set),
            cmocka_unit_test(everything_set),
            cmocka_unit_test(empty_is_not_set),
            cmocka_unit_test(timing),
            cmocka_unit_test(kernel),
            cmocka_unit_test(tunables),
            cmocka_unit_test(values),
            cmocka_unit_test(switches),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
