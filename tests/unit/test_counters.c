// SPDX-License-Identifier: MIT
// counters.h: what is added, that sums of parts are the whole, and the wire form.
#include <memspy/counters.h>

#include "check.h"
#include "events.h"

#define FLOOR 20

static void fill(struct ms_counters *c, uint64_t seed, unsigned count)
{
    memset(c, 0, sizeof *c);
    for (unsigned i = 0; i < count; i++) {
        struct ms_event e = events_random(&seed, 0);
        ms_counters_add(c, &e, FLOOR, 1);
    }
    for (unsigned i = 0; i < MS_TALLIES; i++)
        c->tally[i] = guard_random_wide(&seed);
}

static void one_allocation(void **state)
{
    (void)state;
    static struct ms_counters c;
    memset(&c, 0, sizeof c);
    const struct ms_event e = {.kind = MS_KIND_CALLOC,
            .attr = MS_ALLOC_BRK | MS_ATTR_TIMED,
            .size = 100,
            .usable = 104,
            .cost = 210,
            .weight_log2 = 4};
    ms_counters_add(&c, &e, FLOOR, 1);
    const struct ms_row *row = &c.rows[MS_ALLOC_BRK];
    assert_true(c.kinds[MS_KIND_CALLOC] == 1);
    assert_true(row->calls == 1 && row->bytes == 100);
    assert_true(row->timed == 16 && row->cost == 16 * 190);
    assert_true(row->min == 190 && row->max == 190);
    assert_true(row->hist[ms_hist_bucket(190)] == 16);
}

static void one_free(void **state)
{
    (void)state;
    static struct ms_counters c;
    memset(&c, 0, sizeof c);
    const struct ms_event plain = {.kind = MS_KIND_FREE, .attr = MS_FREE_TRIM, .usable = 104};
    const struct ms_event sized = {
            .kind = MS_KIND_FREE_SIZED, .attr = MS_FREE_TRIM, .size = 100, .usable = 104};
    const struct ms_event freed = {
            .kind = MS_KIND_REALLOC, .attr = MS_FREE_TRIM | MS_ATTR_FREED, .usable = 24};
    ms_counters_add(&c, &plain, FLOOR, 1);
    ms_counters_add(&c, &sized, FLOOR, 1);
    ms_counters_add(&c, &freed, FLOOR, 1);
    const struct ms_row *row = &c.rows[MS_ROW_FREE + MS_FREE_TRIM];
    assert_true(row->calls == 3 && row->bytes == 104 + 104 + 24);
    assert_true(row->timed == 0 && row->min == 0);
}

static void failures_are_in_no_row(void **state)
{
    (void)state;
    static struct ms_counters c;
    memset(&c, 0, sizeof c);
    const struct ms_event e = {
            .kind = MS_KIND_MALLOC, .attr = MS_ATTR_FAILED | MS_ALLOC_MMAP, .size = 1000};
    ms_counters_add(&c, &e, FLOOR, 1);
    assert_true(c.failed_calls == 1 && c.failed_bytes == 1000);
    assert_true(c.kinds[MS_KIND_MALLOC] == 1);
    for (unsigned i = 0; i < MS_ROWS; i++)
        assert_true(c.rows[i].calls == 0);
}

// The sizes of allocations that fail are often absurd: their sum stays at its limit.
static void failed_bytes_do_not_wrap(void **state)
{
    (void)state;
    static struct ms_counters c, other;
    memset(&c, 0, sizeof c);
    const struct ms_event e = {
            .kind = MS_KIND_MALLOC, .attr = MS_ATTR_FAILED, .size = UINT64_MAX - 1};
    ms_counters_add(&c, &e, FLOOR, 1);
    ms_counters_add(&c, &e, FLOOR, 1);
    assert_true(c.failed_calls == 2 && c.failed_bytes == UINT64_MAX);
    other.failed_bytes = 5;
    ms_counters_merge(&c, &other);
    assert_true(c.failed_bytes == UINT64_MAX);
}

// Adding an event so many times is adding it that often.
static void many_at_once(void **state)
{
    (void)state;
    static struct ms_counters once, often;
    uint64_t seed = 53;
    memset(&once, 0, sizeof once);
    memset(&often, 0, sizeof often);
    for (unsigned i = 0; i < 3000; i++) {
        struct ms_event e = events_random(&seed, 0);
        uint64_t times = 1 + guard_random(&seed) % 6;
        if (i % 2)
            e.attr &= (uint8_t)~MS_ATTR_FAILED;
        ms_counters_add(&once, &e, FLOOR, times);
        for (uint64_t j = 0; j < times; j++)
            ms_counters_add(&often, &e, FLOOR, 1);
        assert_memory_equal(&once, &often, sizeof once);
    }
}

static void only_allocations_and_frees_have_rows(void **state)
{
    (void)state;
    static struct ms_counters c;
    memset(&c, 0, sizeof c);
    const struct ms_event map = {.kind = MS_KIND_MMAP, .size = 4096};
    const struct ms_event kernel = {.kind = MS_KIND_KERNEL, .size = 4096};
    ms_counters_add(&c, &map, FLOOR, 1);
    ms_counters_add(&c, &kernel, FLOOR, 1);
    assert_true(c.kinds[MS_KIND_MMAP] == 1 && c.kinds[MS_KIND_KERNEL] == 1);
    for (unsigned i = 0; i < MS_ROWS; i++)
        assert_true(c.rows[i].calls == 0);
}

static void paths_out_of_range_are_unknown(void **state)
{
    (void)state;
    const struct ms_event alloc = {.kind = MS_KIND_MALLOC, .attr = 7};
    const struct ms_event frees = {.kind = MS_KIND_FREE, .attr = 5};
    assert_int_equal(ms_row_of(&alloc), MS_ALLOC_UNKNOWN);
    assert_int_equal(ms_row_of(&frees), MS_ROW_FREE + MS_FREE_UNKNOWN);
}

static void costs(void **state)
{
    (void)state;
    static struct ms_row row;
    memset(&row, 0, sizeof row);
    ms_row_add_cost(&row, 50, 1);
    ms_row_add_cost(&row, 0, 2);
    ms_row_add_cost(&row, 70, 4);
    assert_true(row.min == 0 && row.max == 70);
    assert_true(row.timed == 7 && row.cost == 50 + 4 * 70);
}

// A row without timed calls has no least cost: its 0 is not one.
static void merge_of_least_costs(void **state)
{
    (void)state;
    static struct ms_row timed, untimed, sum;
    memset(&timed, 0, sizeof timed);
    memset(&sum, 0, sizeof sum);
    ms_row_add_cost(&timed, 50, 1);
    untimed.calls = 3;
    ms_row_merge(&sum, &untimed);
    ms_row_merge(&sum, &timed);
    ms_row_merge(&sum, &untimed);
    assert_true(sum.calls == 6 && sum.timed == 1);
    assert_true(sum.min == 50 && sum.max == 50);
}

static void a_cost_below_the_floor_is_zero(void **state)
{
    (void)state;
    static struct ms_counters c;
    memset(&c, 0, sizeof c);
    const struct ms_event e = {.kind = MS_KIND_MALLOC, .attr = MS_ATTR_TIMED, .cost = FLOOR - 1};
    ms_counters_add(&c, &e, FLOOR, 1);
    assert_true(c.rows[0].timed == 1 && c.rows[0].cost == 0 && c.rows[0].hist[0] == 1);
}

// The counters of two halves of a stream add up to those of the stream.
static void merge_is_the_sum(void **state)
{
    (void)state;
    static struct ms_counters whole, parts[2], sum;
    memset(&whole, 0, sizeof whole);
    memset(parts, 0, sizeof parts);
    memset(&sum, 0, sizeof sum);
    uint64_t seed = 41;
    for (unsigned i = 0; i < 4000; i++) {
        struct ms_event e = events_random(&seed, 0);
        ms_counters_add(&whole, &e, FLOOR, 1);
        ms_counters_add(&parts[guard_random(&seed) % 2], &e, FLOOR, 1);
    }
    for (unsigned i = 0; i < MS_TALLIES; i++) {
        parts[0].tally[i] = i;
        parts[1].tally[i] = 100;
        whole.tally[i] = 100 + i;
    }
    ms_counters_merge(&sum, &parts[0]);
    ms_counters_merge(&sum, &parts[1]);
    assert_memory_equal(&sum, &whole, sizeof sum);
    // Nothing is added by nothing.
    static const struct ms_counters nothing;
    ms_counters_merge(&sum, &nothing);
    assert_memory_equal(&sum, &whole, sizeof sum);
}

static size_t encode(const struct ms_counters *c, struct guard *g)
{
    *g = guard_make(MS_COUNTERS_MAX);
    struct ms_writer w = {g->bytes, g->bytes + g->size, false};
    ms_counters_encode(&w, c);
    assert_false(w.full);
    size_t size = (size_t)(w.at - g->bytes);
    guard_cut(g, g->bytes, size);
    return size;
}

static void round_trip(void **state)
{
    (void)state;
    static struct ms_counters c, back;
    const unsigned counts[] = {0, 1, 10, 3000};
    for (unsigned i = 0; i < 4; i++) {
        struct guard g;
        fill(&c, 43 + i, counts[i]);
        size_t size = encode(&c, &g);
        struct ms_cursor in = {g.bytes, g.bytes + size, false};
        memset(&back, 0, sizeof back);
        ms_counters_decode(&in, &back);
        assert_false(in.bad);
        assert_ptr_equal(in.at, in.end);
        assert_memory_equal(&back, &c, sizeof c);
        guard_free(&g);
    }
}

// Every number at its widest: the wire form fits MS_COUNTERS_MAX.
static void the_longest_wire_form(void **state)
{
    (void)state;
    static struct ms_counters c, back;
    memset(&c, 0xff, sizeof c);
    for (unsigned i = 0; i < MS_ROWS; i++)
        c.rows[i].min = 0; // so that each bucket may be in use
    struct guard g;
    size_t size = encode(&c, &g);
    struct ms_cursor in = {g.bytes, g.bytes + size, false};
    memset(&back, 0, sizeof back);
    ms_counters_decode(&in, &back);
    assert_false(in.bad);
    assert_memory_equal(&back, &c, sizeof c);
    guard_free(&g);
}

static void damaged_input(void **state)
{
    (void)state;
    static struct ms_counters c, back;
    struct guard g, copy;
    fill(&c, 47, 60);
    size_t size = encode(&c, &g);
    copy = guard_make(size);
    for (size_t cut = 0; cut < size; cut++) {
        guard_cut(&copy, g.bytes, cut);
        struct ms_cursor in = {copy.bytes, copy.bytes + cut, false};
        ms_counters_decode(&in, &back);
        assert_true(in.bad);
    }
    guard_cut(&copy, g.bytes, size);
    for (size_t at = 0; at < size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            copy.bytes[at] = (uint8_t)(g.bytes[at] ^ 1u << bit);
            struct ms_cursor in = {copy.bytes, copy.bytes + size, false};
            ms_counters_decode(&in, &back);
        }
        copy.bytes[at] = g.bytes[at];
    }
    guard_free(&g);
    guard_free(&copy);
}

static void sparse(const uint8_t *bytes, size_t size, bool bad)
{
    struct guard values = guard_make(4 * sizeof(uint64_t));
    struct ms_cursor in = {bytes, bytes + size, false};
    ms_get_sparse(&in, (uint64_t *)(void *)values.bytes, 4);
    assert_int_equal(in.bad, bad);
    guard_free(&values);
}

#define SPARSE(bad, ...)                                                                           \
    sparse((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}, bad)

static void sparse_indexes(void **state)
{
    (void)state;
    SPARSE(false, 0);
    SPARSE(false, 1, 3, 9);
    SPARSE(false, 4, 0, 1, 0, 1, 0, 1, 0, 1);
    SPARSE(true, 1, 4, 9);
    SPARSE(true, 2, 3, 9, 0, 9);
    SPARSE(true, 5, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
    // 2^64 - 1, and what would wrap to index 0 after one entry.
    SPARSE(true, 2, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 7);
    SPARSE(true, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(one_allocation),
            cmocka_unit_test(one_free),
            cmocka_unit_test(failures_are_in_no_row),
            cmocka_unit_test(failed_bytes_do_not_wrap),
            cmocka_unit_test(many_at_once),
            cmocka_unit_test(only_allocations_and_frees_have_rows),
            cmocka_unit_test(paths_out_of_range_are_unknown),
            cmocka_unit_test(costs),
            cmocka_unit_test(merge_of_least_costs),
            cmocka_unit_test(a_cost_below_the_floor_is_zero),
            cmocka_unit_test(merge_is_the_sum),
            cmocka_unit_test(round_trip),
            cmocka_unit_test(the_longest_wire_form),
            cmocka_unit_test(damaged_input),
            cmocka_unit_test(sparse_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
