// SPDX-License-Identifier: MIT
// wire.h: writers and cursors at and beyond the end of their buffer, varints of every length and
// every malformation, zigzag, CRC-32 against published values.
#include <memspy/wire.h>

#include "check.h"
#include "guard.h"

static void round_trip(uint64_t value, size_t expected)
{
    struct guard g = guard_make(MS_VARINT_MAX);
    struct ms_writer w = {g.bytes, g.bytes + g.size, false};
    ms_put_varint(&w, value);
    assert_false(w.full);
    size_t size = (size_t)(w.at - g.bytes);
    assert_int_equal(size, expected);

    // Read where the last byte lies against the guard page; then with each byte less.
    for (size_t keep = size + 1; keep-- > 0;) {
        uint8_t copy[MS_VARINT_MAX];
        memcpy(copy, g.bytes, keep);
        struct guard r = guard_make(keep + !keep);
        guard_cut(&r, copy, keep);
        struct ms_cursor c = {r.bytes, r.bytes + keep, false};
        uint64_t got = ms_get_varint(&c);
        assert_int_equal(c.bad, keep < size);
        assert_true(got == (keep < size ? 0 : value));
        guard_free(&r);
    }
    guard_free(&g);
}

static void varint_round_trip(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        uint64_t power = UINT64_C(1) << bits;
        round_trip(power, bits / 7 + 1);
        round_trip(power - 1, bits ? (bits - 1) / 7 + 1 : 1);
    }
    round_trip(UINT64_MAX, 10);
    uint64_t seed = 1;
    for (unsigned i = 0; i < 500; i++) {
        uint64_t value = guard_random_wide(&seed);
        unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 1;
        round_trip(value, (bits + 6) / 7);
    }
}

static bool varint_bad(const char *bytes, size_t size, uint64_t *value)
{
    struct guard g = guard_make(size);
    memcpy(g.bytes, bytes, size);
    struct ms_cursor c = {g.bytes, g.bytes + size, false};
    *value = ms_get_varint(&c);
    bool bad = c.bad;
    guard_free(&g);
    return bad;
}

#define NINE "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

static void varint_tenth_byte(void **state)
{
    (void)state;
    uint64_t value;
    assert_false(varint_bad(NINE "\x01", 10, &value));
    assert_true(value == UINT64_MAX);
    assert_false(varint_bad(NINE "\x00", 10, &value));
    assert_true(value == UINT64_MAX >> 1);
    for (unsigned byte = 2; byte < 256; byte++) {
        char bytes[12] = NINE;
        bytes[9] = (char)byte;
        bytes[10] = 0;
        assert_true(varint_bad(bytes, 11, &value));
        assert_true(value == 0);
    }
}

static void varint_longer_than_needed(void **state)
{
    (void)state;
    uint64_t value;
    assert_false(varint_bad("\x80\x00", 2, &value));
    assert_true(value == 0);
    assert_false(varint_bad("\x85\x80\x80\x00", 4, &value));
    assert_true(value == 5);
}

static void cursor_error_is_sticky(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x80, 5};
    struct ms_cursor c = {bytes, bytes + 1, false};
    assert_true(ms_get_varint(&c) == 0);
    assert_true(c.bad);
    c.end = bytes + 2;
    assert_true(ms_get_varint(&c) == 0);
    assert_int_equal(ms_get_u8(&c), 0);
    assert_null(ms_get_bytes(&c, 0));
    struct ms_cursor section = ms_get_section(&c, 1);
    assert_true(section.bad);
    assert_true(section.at == section.end);
}

static void cursor_stays_inside(void **state)
{
    (void)state;
    struct guard g = guard_make(8);
    memset(g.bytes, 7, 8);
    struct ms_cursor c = {g.bytes, g.bytes + 8, false};
    struct ms_cursor section = ms_get_section(&c, 3);
    assert_false(section.bad);
    assert_int_equal(section.end - section.at, 3);
    assert_ptr_equal(c.at, g.bytes + 3);
    assert_non_null(ms_get_bytes(&c, 5));
    assert_non_null(ms_get_bytes(&c, 0));
    assert_false(c.bad);
    assert_int_equal(ms_get_u8(&c), 0);
    assert_true(c.bad);

    // Sizes that would wrap a pointer.
    const uint64_t sizes[] = {9, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX};
    for (unsigned i = 0; i < 4; i++) {
        struct ms_cursor d = {g.bytes, g.bytes + 8, false};
        assert_null(ms_get_bytes(&d, sizes[i]));
        assert_true(d.bad);
        assert_ptr_equal(d.at, g.bytes);
    }
    guard_free(&g);
}

static void empty_cursor(void **state)
{
    (void)state;
    struct ms_cursor c = {NULL, NULL, false};
    assert_true(ms_get_varint(&c) == 0);
    assert_true(c.bad);
    c.bad = false;
    assert_int_equal(ms_get_u8(&c), 0);
    assert_true(c.bad);
}

static void writer_stays_inside(void **state)
{
    (void)state;
    for (size_t room = 0; room < 2 * MS_VARINT_MAX; room++) {
        struct guard g = guard_make(room + !room);
        guard_cut(&g, NULL, 0);
        g.bytes -= room;
        struct ms_writer w = {g.bytes, g.bytes + room, false};
        unsigned written = 0;
        for (unsigned i = 0; i < 64; i++) {
            ms_put_varint(&w, UINT64_MAX);
            written += !w.full;
        }
        assert_true(w.full);
        assert_int_equal(written, room / MS_VARINT_MAX);
        const uint8_t *at = w.at;
        ms_put_u8(&w, 1);
        ms_put_bytes(&w, "x", 1);
        assert_ptr_equal(w.at, at);
        guard_free(&g);
    }
}

static void writer_of_bytes_fills_exactly(void **state)
{
    (void)state;
    struct guard g = guard_make(5);
    struct ms_writer w = {g.bytes, g.bytes + 5, false};
    ms_put_bytes(&w, "abcd", 4);
    ms_put_u8(&w, 'e');
    assert_false(w.full);
    assert_memory_equal(g.bytes, "abcde", 5);
    ms_put_bytes(&w, "", 0);
    assert_false(w.full);
    ms_put_u8(&w, 'f');
    assert_true(w.full);
    guard_free(&g);
}

static void zigzag(void **state)
{
    (void)state;
    assert_true(ms_zigzag(0) == 0);
    assert_true(ms_zigzag(-1) == 1);
    assert_true(ms_zigzag(1) == 2);
    assert_true(ms_zigzag(INT64_MAX) == UINT64_MAX - 1);
    assert_true(ms_zigzag(INT64_MIN) == UINT64_MAX);
    uint64_t seed = 3;
    for (unsigned i = 0; i < 10000; i++) {
        int64_t value = (int64_t)(guard_random_wide(&seed) - guard_random_wide(&seed));
        assert_true(ms_unzigzag(ms_zigzag(value)) == value);
    }
}

static void crc32_known_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t crc;
    } known[] = {{"", 0}, {"a", 0xe8b7be43}, {"abc", 0x352441c2}, {"123456789", 0xcbf43926},
            {"The quick brown fox jumps over the lazy dog", 0x414fa339}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(ms_crc32(known[i].text, strlen(known[i].text)), known[i].crc);
    uint8_t zeros[32] = {0}, ones[32];
    memset(ones, 0xff, sizeof ones);
    assert_int_equal(ms_crc32(zeros, sizeof zeros), 0x190a55ad);
    assert_int_equal(ms_crc32(ones, sizeof ones), 0xff6cab0b);
}

static void align_up(void **state)
{
    (void)state;
    assert_true(ms_align_up(0, 64) == 0);
    assert_true(ms_align_up(1, 64) == 64);
    assert_true(ms_align_up(64, 64) == 64);
    assert_true(ms_align_up(65, 64) == 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(varint_round_trip),
            cmocka_unit_test(varint_tenth_byte),
            cmocka_unit_test(varint_longer_than_needed),
            cmocka_unit_test(cursor_error_is_sticky),
            cmocka_unit_test(cursor_stays_inside),
            cmocka_unit_test(empty_cursor),
            cmocka_unit_test(writer_stays_inside),
            cmocka_unit_test(writer_of_bytes_fills_exactly),
            cmocka_unit_test(zigzag),
            cmocka_unit_test(crc32_known_values),
            cmocka_unit_test(align_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
