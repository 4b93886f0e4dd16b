// SPDX-License-Identifier: MIT
// columns.h: payloads written byte by byte, each wrong in one place.
#include "payload.h"

// One malloc(24) = 16, usable 24, from address 5, in every column but the dictionary.
#define NO_NUMBERS 1, 0
#define NUMBER(n)  2, 1, n
#define FIRST      NUMBER(MS_RUNS) // the first signature
#define SIGNATURE  MS_KIND_MALLOC, 0, MS_MARK_GUESSED, 10
static const uint8_t one_event[] = {1, 0, MS_COLUMNS, FIRST, NUMBER(2), NUMBER(24), NO_NUMBERS,
        NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0, 4, SIGNATURE};
enum { AT_WIDTH = 4, AT_INDEX = 5, AT_KIND = 24, AT_ATTR, AT_MARKS, AT_CALLER };

static bool is_the_event(const struct ms_event *e)
{
    return e->kind == MS_KIND_MALLOC && e->ptr == 16 && e->size == 24 && e->usable == 24 &&
           e->caller == 5;
}

// A payload of a later writer with two more columns.
static void unknown_columns_are_skipped(void **state)
{
    (void)state;
    static const uint8_t more[] = {3, 'n', 'e', 'w', 1, 'x', 0};
    uint8_t raw[sizeof one_event + sizeof more];
    struct ms_event e;
    bool whole;
    memcpy(raw, one_event, sizeof one_event);
    memcpy(raw + sizeof one_event, more, sizeof more);
    raw[2] += 2;
    assert_int_equal(decode(raw, sizeof raw, &e, &whole), 1);
    assert_true(whole);
    assert_true(is_the_event(&e));
}

static void malformed_events(void **state)
{
    (void)state;
    static const struct {
        uint8_t at;
        uint8_t value;
    } bad[] = {{AT_INDEX, 0}, {AT_INDEX, 1}, {AT_INDEX, MS_RUNS + 1}, {AT_WIDTH, 0}, {AT_WIDTH, 2},
            {AT_WIDTH, 5}, {AT_KIND, 0}, {AT_KIND, 63}, {AT_KIND, 255}, {AT_KIND, MS_KIND_MEMALIGN},
            {AT_ATTR, MS_ATTR_TIMED}, {AT_MARKS, 0}, {AT_MARKS, MS_MARK_GUESSED | MS_MARK_MODEL},
            {AT_CALLER, 0x80}};
    struct ms_event e;
    bool whole;
    assert_int_equal(decode(one_event, sizeof one_event, &e, &whole), 1);
    assert_true(whole && is_the_event(&e));
    // Leaves a second signature behind the only one: index 1 must not find it.
    static const uint8_t two[] = {2, 0, MS_COLUMNS, 3, 1, MS_RUNS, MS_RUNS + 1, 3, 1, 2, 2, 3, 1,
            24, 24, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0, 8, SIGNATURE,
            SIGNATURE};
    struct ms_event both[2];
    assert_int_equal(decode(two, sizeof two, both, &whole), 2);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t copy[sizeof one_event];
        memcpy(copy, one_event, sizeof one_event);
        copy[bad[i].at] = bad[i].value;
        decode(copy, sizeof copy, &e, &whole);
        assert_false(whole);
    }
}

// Columns of numbers whose bytes do not make up whole numbers, or too wide ones.
static void malformed_numbers(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[8];
        bool good;
    } columns[] = {{{2, 1, MS_RUNS}, true}, {{3, 2, MS_RUNS, 0}, true},
            {{4, 3, MS_RUNS, 0, 0}, true}, {{5, 4, MS_RUNS, 0, 0, 0}, true},
            {{6, 5, MS_RUNS, 0, 0, 0, 0}, false}, {{4, 2, MS_RUNS, 0, 0}, false},
            {{2, 0, 0}, false}, {{0}, false}, {{1, 0}, false}, {{1, 1}, false}};
    for (unsigned i = 0; i < sizeof columns / sizeof *columns; i++) {
        uint8_t raw[sizeof one_event + 8] = {1, 0, MS_COLUMNS};
        size_t size = 1u + columns[i].bytes[0], rest = sizeof one_event - AT_INDEX - 1;
        struct ms_event e;
        bool whole;
        memcpy(raw + 3, columns[i].bytes, size);
        memcpy(raw + 3 + size, one_event + AT_INDEX + 1, rest);
        decode(raw, 3 + size + rest, &e, &whole);
        assert_int_equal(whole, columns[i].good);
    }
}

static void malformed_signatures(void **state)
{
    (void)state;
    static const uint8_t heavy[] = {1, 0, MS_COLUMNS, FIRST, NUMBER(2), NUMBER(24), NO_NUMBERS,
            NO_NUMBERS, NUMBER(1), NUMBER(9), NO_NUMBERS, 0, 5, MS_KIND_MALLOC, MS_ATTR_TIMED,
            MS_MARK_GUESSED, 16, 10};
    static const uint8_t aligned[] = {1, 0, MS_COLUMNS, FIRST, NUMBER(2), NUMBER(24), NO_NUMBERS,
            NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0, 5, MS_KIND_MEMALIGN, 0,
            MS_MARK_GUESSED, 64, 10};
    static const uint8_t two_for_one[] = {1, 0, MS_COLUMNS, FIRST, NUMBER(2), NUMBER(24),
            NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0, 8, SIGNATURE, SIGNATURE};
    struct ms_event e;
    bool whole;
    uint8_t copy[sizeof heavy];
    decode(heavy, sizeof heavy, &e, &whole);
    assert_false(whole);
    memcpy(copy, heavy, sizeof heavy);
    copy[sizeof heavy - 2] = 15;
    assert_int_equal(decode(copy, sizeof heavy, &e, &whole), 1);
    assert_true(whole && e.cost == 9 && e.weight_log2 == 15);
    decode(aligned, sizeof aligned, &e, &whole);
    assert_false(whole);
    memcpy(copy, aligned, sizeof aligned);
    copy[sizeof aligned - 2] = 63;
    assert_int_equal(decode(copy, sizeof aligned, &e, &whole), 1);
    assert_true(whole && e.align_log2 == 63);
    decode(two_for_one, sizeof two_for_one, &e, &whole);
    assert_false(whole);
}

// A free never takes its address from the model.
static void malformed_free(void **state)
{
    (void)state;
    uint8_t raw[] = {2, 0, MS_COLUMNS, 3, 1, MS_RUNS, MS_RUNS + 1, NUMBER(2), NO_NUMBERS, 3, 1, 2,
            2, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0, 8, MS_KIND_FREE, 0, 0, 10,
            MS_KIND_FREE, 0, MS_MARK_SAME, 0};
    struct ms_event e[2];
    bool whole;
    assert_int_equal(decode(raw, sizeof raw, e, &whole), 2);
    assert_true(whole && e[1].ptr == 16 && e[1].usable == 24);
    raw[sizeof raw - 2] = MS_MARK_MODEL;
    decode(raw, sizeof raw, e, &whole);
    assert_false(whole);
}

// Two mallocs, and then what `signature` and `length` say, of as many events as `events`.
static void runs(uint8_t events, uint8_t before, uint8_t signature, uint8_t length, bool good)
{
    uint8_t raw[64] = {events, 0, MS_COLUMNS, (uint8_t)(2 + before), 1};
    const uint8_t rest[] = {5, 1, 2, 0, 0, 0, 5, 1, 24, 24, 24, 24, NO_NUMBERS, NO_NUMBERS,
            NO_NUMBERS, NO_NUMBERS, NUMBER(length), 0, 4, SIGNATURE};
    struct ms_event e[16];
    bool whole;
    memset(raw + 5, MS_RUNS, before);
    raw[5 + before] = signature;
    memcpy(raw + 6 + before, rest, sizeof rest);
    uint64_t count = decode(raw, 6u + before + sizeof rest, e, &whole);
    assert_int_equal(whole, good);
    for (uint64_t i = 1; i < count; i++)
        assert_true(events_same(&e[i], &e[0]));
}

// A run needs a period of events before it and a length, and ends with the events.
static void malformed_runs(void **state)
{
    (void)state;
    runs(3, 2, 0, 1, true);
    runs(8, 2, 0, 6, true);
    runs(8, 4, 1, 4, true);
    runs(4, 4, MS_RUNS, 1, true); // the run's length is left over, which does no harm
    runs(4, 0, 0, 4, false);      // at the very beginning
    runs(4, 1, 0, 3, false);      // behind one event only
    runs(8, 3, 1, 5, false);
    runs(3, 2, 0, 0, false); // of no length: no event comes of it
    runs(8, 2, 0, 7, false); // past the last event
    runs(8, 2, 0, 255, false);
    runs(8, 4, 1, 3, false); // too short: the next number of the column is not there
}

// A length that needs the column of wide numbers, and one that takes the varint of another.
static void wide_lengths(void **state)
{
    (void)state;
    uint8_t raw[] = {4, 0, MS_COLUMNS, 4, 1, MS_RUNS, MS_RUNS, 0, 3, 1, 2, 0, 3, 1, 24, 24,
            NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 5, 4, 0xff, 0xff, 0xff, 0xff, 1, 2, 4,
            SIGNATURE};
    struct ms_event e[4];
    bool whole;
    assert_int_equal(decode(raw, sizeof raw, e, &whole), 4);
    assert_true(whole);
    raw[sizeof raw - 6] = 0x80; // a varint that does not end
    decode(raw, sizeof raw, e, &whole);
    assert_false(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(unknown_columns_are_skipped),
            cmocka_unit_test(malformed_numbers),
            cmocka_unit_test(malformed_events),
            cmocka_unit_test(malformed_signatures),
            cmocka_unit_test(malformed_free),
            cmocka_unit_test(malformed_runs),
            cmocka_unit_test(wide_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
