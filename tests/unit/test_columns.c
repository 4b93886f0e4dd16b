// SPDX-License-Identifier: MIT
// columns.h: what is encoded decodes to the same events; no input, however damaged, is read beyond
// its end; and the model does what it is there for.
#include "payload.h"

// The encoder looks for signatures until it meets an empty place.
_Static_assert(MS_SIGNATURE_HASH > MS_LIVE_SLOTS, "a buffer may have as many signatures as slots");
// A number that is not kept is written where the next one goes.
_Static_assert(MS_ENCODER_EVENTS > MS_LIVE_SLOTS, "a number may stand behind those of all slots");

static void random_events(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    uint64_t seed = 17;
    for (unsigned round = 0; round < 20; round++) {
        for (size_t i = 0; i < EVENTS; i++)
            events[i] = events_random(&seed, BASE);
        round_trip(events, EVENTS, BUILD_PLAIN);
    }
    for (size_t count = 0; count < 5; count++)
        round_trip(events, count, BUILD_PLAIN);
}

// Addresses close to each other, all distances met: aux and ptr of kinds with an old address.
static void old_addresses(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    uint64_t seed = 19;
    for (size_t i = 0; i < EVENTS; i++) {
        events[i] = (struct ms_event){.kind = MS_KIND_REALLOC,
                .attr = MS_ALLOC_ARENA,
                .ptr = guard_random(&seed) % 64,
                .aux = guard_random(&seed) % 64};
    }
    round_trip(events, EVENTS, BUILD_PLAIN);
}

// An old address half of all units away from the last address took the code of "no address", and
// every address after it came out wrong.
static void old_address_eight_bytes_on(void **state)
{
    (void)state;
    const struct ms_event events[] = {
            {.kind = MS_KIND_MALLOC, .ptr = 0x1000, .size = 8, .usable = 8},
            {.kind = MS_KIND_REALLOC, .ptr = 0x1010, .size = 8, .usable = 8, .aux = 0x1008},
            {.kind = MS_KIND_FREE, .ptr = 0x1010, .usable = 8},
    };
    round_trip(events, 3, BUILD_PLAIN);
}

static void realistic_events(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    struct events_heap heap;
    for (unsigned seed = 1; seed < 6; seed++) {
        events_heap_open(&heap, seed, BASE);
        for (size_t i = 0; i < EVENTS; i++)
            events[i] = events_heap_next(&heap);
        round_trip(events, EVENTS, BUILD_PLAIN);
    }
}

// Freed addresses that come back last in first out cost nothing: only frees have an address.
static void model_hits(void **state)
{
    (void)state;
    struct ms_event events[2 * MS_MODEL_DEPTH] = {{0}};
    for (unsigned i = 0; i < MS_MODEL_DEPTH; i++) {
        events[i] = (struct ms_event){.kind = MS_KIND_FREE, .ptr = 0x5000 + 64u * i, .usable = 56};
        events[2 * MS_MODEL_DEPTH - 1 - i] = (struct ms_event){
                .kind = MS_KIND_MALLOC, .ptr = 0x5000 + 64u * i, .size = 50, .usable = 56};
    }
    struct guard g;
    size_t size = encode(events, 2 * MS_MODEL_DEPTH, BUILD_PLAIN, &g);
    assert_int_equal(column_count(g.bytes, size, MS_COL_PTR), MS_MODEL_DEPTH);
    guard_free(&g);
    round_trip(events, 2 * MS_MODEL_DEPTH, BUILD_PLAIN);
}

// One more than a bin is deep: the oldest is forgotten, the newest are not, and then the bin is
// empty: `last`, returned by the last malloc, is expected no more.
static void forgets_the_oldest(unsigned last)
{
    enum { N = MS_MODEL_DEPTH + 1 };
    struct ms_event events[2 * N] = {{0}};
    for (unsigned i = 0; i < N; i++) {
        events[i] = (struct ms_event){.kind = MS_KIND_FREE, .ptr = 0x5000 + 64u * i, .usable = 24};
        events[2 * N - 1 - i] = (struct ms_event){
                .kind = MS_KIND_MALLOC, .ptr = 0x5000 + 64u * i, .size = 24, .usable = 24};
    }
    events[2 * N - 1].ptr = 0x5000 + 64u * last;
    struct guard g;
    size_t size = encode(events, 2 * N, BUILD_PLAIN, &g);
    // The last malloc takes a number, or none where it repeats the address of the one before.
    assert_int_equal(column_count(g.bytes, size, MS_COL_PTR), N + (last != 1));
    guard_free(&g);
    round_trip(events, 2 * N, BUILD_PLAIN);
}

static void model_forgets_the_oldest(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= MS_MODEL_DEPTH; i++)
        forgets_the_oldest(i);
}

static void model_bins(void **state)
{
    (void)state;
    assert_int_equal(ms_model_bin(24), 0);
    assert_int_equal(ms_model_bin(40), 1);
    assert_int_equal(ms_model_bin(1032), MS_MODEL_BINS - 1);
    const uint64_t none[] = {0, 8, 16, 23, 25, 32, 1040, 1048, UINT64_MAX};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(ms_model_bin(none[i]), MS_MODEL_BINS);
}

static void units(void **state)
{
    (void)state;
    assert_true(ms_unit(0x12345670) == 0x1234567);
    uint64_t seed = 23;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t address = guard_random_wide(&seed);
        assert_true(ms_from_unit(ms_unit(address)) == address);
    }
}

static void usable_guesses(void **state)
{
    (void)state;
    static const uint64_t known[][2] = {{0, 24}, {1, 24}, {24, 24}, {25, 40}, {40, 40}, {41, 56}};
    for (unsigned i = 0; i < 6; i++) {
        const struct ms_event e = {.kind = MS_KIND_MALLOC, .size = known[i][0]};
        assert_true(ms_usable_guess(&e) == known[i][1]);
    }
    const struct ms_event mapped = {.kind = MS_KIND_MALLOC, .attr = MS_ALLOC_MMAP, .size = 1 << 20};
    assert_true(ms_usable_guess(&mapped) == (1 << 20) + 4096 - 16);
}

static void damaged_input(void **state)
{
    (void)state;
    struct ms_event events[60];
    struct events_heap heap;
    uint64_t seed = 29;
    events_heap_open(&heap, 31, BASE);
    for (unsigned i = 0; i < 60; i++)
        events[i] = i % 3 ? events_heap_next(&heap) : events_random(&seed, BASE);
    damage(events, 60, BUILD_PLAIN);
}

static void any_bytes(void **state)
{
    (void)state;
    static struct ms_event back[EVENTS];
    uint64_t seed = 37;
    bool whole;
    struct guard g = guard_make(256);
    for (unsigned round = 0; round < 20000; round++) {
        for (unsigned i = 0; i < 256; i++)
            g.bytes[i] = (uint8_t)(guard_random(&seed) & (i < 16 ? 0x1f : 0xff));
        decode(g.bytes, 256, back, &whole);
    }
    guard_free(&g);
}

// More events than the reader has room for are refused, not stored.
static void too_many_events(void **state)
{
    (void)state;
    struct ms_event events[3] = {{.kind = MS_KIND_MALLOC}, {.kind = 1}, {.kind = 1}};
    struct guard g;
    size_t size = encode(events, 3, BUILD_PLAIN, &g);
    struct ms_cursor in = {g.bytes, g.bytes + size, false};
    struct ms_decoder x;
    struct ms_signature signatures[2];
    assert_true(ms_columns_open(&x, &in, signatures, 2) == 0);
    assert_true(in.bad);
    guard_free(&g);
}

// Numbers around the widths of a column, and the first that goes to the column of wide ones.
static void widths(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 64; bits++) {
        struct ms_event events[8] = {{0}};
        for (unsigned i = 0; i < 8; i++)
            events[i] = (struct ms_event){.kind = MS_KIND_MALLOC,
                    .attr = MS_ATTR_TIMED,
                    .size = (UINT64_MAX >> (64 - bits)) - i % 2,
                    .usable = i,
                    .start = BASE,
                    .cost = i & 1 ? (UINT64_C(1) << (bits - 1)) : 0};
        round_trip(events, 8, BUILD_PLAIN);
        struct guard g;
        size_t size = encode(events, 8, BUILD_PLAIN, &g);
        unsigned width = bits < 32 ? (bits + 7) / 8 : 4;
        assert_int_equal(column_size(g.bytes, size, MS_COL_SIZE), 1 + 8 * width);
        guard_free(&g);
    }
}

// Signatures that differ in one byte only, so many that places in the encoder's hash collide.
static void alike_signatures_are_told_apart(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    uint64_t seed = 53;
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < EVENTS; i++) {
            uint64_t r = guard_random(&seed);
            events[i] = (struct ms_event){.kind = MS_KIND_MEMALIGN,
                    .attr = MS_ATTR_TIMED,
                    .size = 24,
                    .usable = r & 1 ? 24 : 40,
                    .caller = 0x401000 + (r >> 12 & (round % 2 ? 3 : 0xfffff)),
                    .align_log2 = (uint8_t)(r >> 2 & (round % 2 ? 63 : 1)),
                    .weight_log2 = r >> 8 & 15};
        }
        round_trip(events, EVENTS, BUILD_PLAIN);
    }
}

// What is alike in all events of a loop is there once.
static void signatures_are_shared(void **state)
{
    (void)state;
    static struct ms_event events[EVENTS];
    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = (struct ms_event){.kind = MS_KIND_FREE,
                .attr = MS_FREE_TCACHE,
                .ptr = 0x1000 + 32 * (uint64_t)i,
                .usable = 24,
                .caller = 0x401000 + i % 3};
    struct guard g;
    size_t size = encode(events, EVENTS, BUILD_PLAIN, &g);
    assert_int_equal(column_size(g.bytes, size, MS_COL_SIGNATURES), 3 * 3 + 4 + 1 + 1);
    assert_int_equal(column_count(g.bytes, size, MS_COL_SIGNATURE), EVENTS);
    assert_int_equal(column_size(g.bytes, size, MS_COL_SIGNATURE), 1 + EVENTS);
    guard_free(&g);
    round_trip(events, EVENTS, BUILD_PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(random_events),
            cmocka_unit_test(old_addresses),
            cmocka_unit_test(old_address_eight_bytes_on),
            cmocka_unit_test(realistic_events),
            cmocka_unit_test(model_hits),
            cmocka_unit_test(model_forgets_the_oldest),
            cmocka_unit_test(model_bins),
            cmocka_unit_test(units),
            cmocka_unit_test(usable_guesses),
            cmocka_unit_test(damaged_input),
            cmocka_unit_test(any_bytes),
            cmocka_unit_test(too_many_events),
            cmocka_unit_test(widths),
            cmocka_unit_test(alike_signatures_are_told_apart),
            cmocka_unit_test(signatures_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
