// SPDX-License-Identifier: MIT
// columns.h: runs. What they stand for comes back in every field, whatever stands around them.
#include "payload.h"

// Loops of random length over the last `period` events, random events between them.
static size_t loops(struct ms_event *events, uint64_t seed)
{
    size_t count = 0;
    while (count < EVENTS) {
        size_t between = guard_random(&seed) % 9, period = guard_random(&seed) & 1 ? 2 : 4;
        for (; between > 0 && count < EVENTS; between--)
            events[count++] = events_random(&seed, BASE);
        size_t length = guard_random(&seed) % 40;
        for (; length > 0 && count >= period && count < EVENTS; length--, count++)
            events[count] = events[count - period];
    }
    return count;
}

static void random_loops(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    for (unsigned seed = 1; seed < 20; seed++)
        round_trip(events, loops(events, seed), BUILD_RUNS);
}

// The same events without runs: what a run leaves out is nothing but repetition.
static void loops_without_runs(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    round_trip(events, loops(events, 101), BUILD_PLAIN);
}

// Events of a program's heap, of which some stretches repeat: the model goes on behind a run as if
// the run had not been there.
static void loops_of_a_heap(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    struct events_heap heap;
    for (unsigned seed = 1; seed < 6; seed++) {
        uint64_t random = seed;
        events_heap_open(&heap, seed, BASE);
        for (size_t i = 0; i < EVENTS; i++) {
            bool repeats = i >= 4 && guard_random(&random) % 16 < 14 && i % 512 > 256;
            events[i] = repeats ? events[i - (seed & 1 ? 2 : 4)] : events_heap_next(&heap);
        }
        round_trip(events, EVENTS, BUILD_RUNS);
    }
}

// One loop over `period` events, of each length: one number, whatever the length.
static void one_loop(unsigned period)
{
    struct ms_event events[64];
    struct events_heap heap;
    events_heap_open(&heap, 7, BASE);
    for (size_t i = 0; i < 64; i++)
        events[i] = i < period ? events_heap_next(&heap) : events[i - period];
    for (size_t count = period + 1; count <= 64; count++) {
        struct guard g;
        size_t size = encode(events, count, BUILD_RUNS, &g);
        assert_int_equal(column_count(g.bytes, size, MS_COL_SIGNATURE), period + 1);
        assert_int_equal(column_count(g.bytes, size, MS_COL_RUN), 1);
        guard_free(&g);
        round_trip(events, count, BUILD_RUNS);
    }
}

static void periods(void **state)
{
    (void)state;
    one_loop(2);
    one_loop(4);
    assert_int_equal(ms_run_period(0), 2);
    assert_int_equal(ms_run_period(1), 4);
}

// Runs directly behind each other, and one whose events come from the run before it: put by hand,
// as no search for repetition would.
static void run_behind_run(void **state)
{
    (void)state;
    static struct ms_encoder x;
    static struct ms_signature signatures[64];
    uint8_t wide[1024], dictionary[1024], raw[4096];
    struct ms_event events[4], e;
    struct events_heap heap;
    events_heap_open(&heap, 9, BASE);
    ms_encoder_reset(&x, BASE);
    x.wide = (struct ms_writer){wide, wide + sizeof wide, false};
    x.dictionary = (struct ms_writer){dictionary, dictionary + sizeof dictionary, false};
    for (unsigned i = 0; i < 4; i++) {
        events[i] = events_heap_next(&heap);
        ms_columns_put(&x, &events[i]);
    }
    ms_columns_put_run(&x, 4, 3); // 0 1 2
    ms_columns_put_run(&x, 2, 5); // 1 2 1 2 1
    ms_columns_put_run(&x, 4, 4); // 2 1 2 1
    static const uint8_t expected[] = {0, 1, 2, 3, 0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
    assert_int_equal(x.events, sizeof expected);
    struct ms_writer out = {raw, raw + sizeof raw, false};
    ms_columns_finish(&x, wide, dictionary, BASE, &out);
    struct ms_cursor in = {raw, out.at, false};
    struct ms_decoder d;
    assert_int_equal(ms_columns_open(&d, &in, signatures, 64), sizeof expected);
    for (unsigned i = 0; i < sizeof expected; i++) {
        assert_true(ms_columns_get(&d, &e));
        assert_true(events_same(&e, &events[expected[i]]));
        // Readers find what belongs to a signature by its index, in runs too.
        assert_int_equal(signatures[d.last_signature].kind, e.kind);
        assert_true(signatures[d.last_signature].caller == e.caller);
    }
    assert_true(!ms_decoder_bad(&d) && d.run_left == 0);
}

// A run leaves the model, the last address and the last start as they are.
static void the_state_stays(void **state)
{
    (void)state;
    static struct ms_encoder x;
    static struct ms_model before;
    uint8_t wide[1024], dictionary[1024];
    struct events_heap heap;
    events_heap_open(&heap, 11, BASE);
    ms_encoder_reset(&x, BASE);
    x.wide = (struct ms_writer){wide, wide + sizeof wide, false};
    x.dictionary = (struct ms_writer){dictionary, dictionary + sizeof dictionary, false};
    for (unsigned i = 0; i < 20; i++) {
        struct ms_event e = events_heap_next(&heap);
        ms_columns_put(&x, &e);
    }
    before = x.model;
    ms_columns_put_run(&x, 2, 100);
    ms_columns_put_run(&x, 4, 100);
    assert_memory_equal(&before, &x.model, sizeof before);
    assert_int_equal(x.events, 220);
}

static void damaged_runs(void **state)
{
    (void)state;
    struct ms_event events[80];
    uint64_t seed = 59;
    for (size_t i = 0; i < 80; i++)
        events[i] = i % 20 < 6 ? events_random(&seed, BASE) : events[i - (i < 40 ? 2 : 4)];
    damage(events, 80, BUILD_RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(random_loops),
            cmocka_unit_test(loops_without_runs),
            cmocka_unit_test(loops_of_a_heap),
            cmocka_unit_test(periods),
            cmocka_unit_test(run_behind_run),
            cmocka_unit_test(the_state_stays),
            cmocka_unit_test(damaged_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
