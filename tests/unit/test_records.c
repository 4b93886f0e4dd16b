// SPDX-License-Identifier: MIT
// PROCESS, END and MODULES blocks: what is strange is read, what is malformed is damage.
#include "through.h"

// A block of one process with these bytes.
static struct found with_block(uint8_t type, const void *raw, size_t size)
{
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    if (type != MS_BLOCK_PROCESS)
        build_process(&b, 1, 0);
    const struct build_block k = {.type = type, .process = 1};
    size_t at = build_put(&b, &k, raw, size), end = b.size;
    // Noted whatever is in the other.
    build_live(&b, (struct build_block){0, 1, 1, 1, 0}, NULL, 0, NULL);
    struct found found = go_through(&b);
    if (found.damages) {
        assert_int_equal(found.damages, 1);
        assert_int_equal(found.damage_offset, at);
        assert_int_equal(found.damage_size, end - at);
    }
    return found;
}

#define BYTES(...)                                                                                 \
    (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void unknown_properties(void **state)
{
    (void)state;
    // Tag 0, tags without a meaning with whatever in them, bytes behind a number, a tag twice.
    struct found found = with_block(
            MS_BLOCK_PROCESS, BYTES(0, 2, 'a', 'b', 1, 1, 7, 0, 0, 6, 1, 0x80, 200, 3, 0xff, 0xff,
                                      0xff, 31, 0, 1, 3, 9, 0xff, 0xff, 40, 0));
    assert_true(found.known && found.pid == 9);
    assert_int_equal(found.damages, 0);
    found = with_block(MS_BLOCK_END, BYTES(0, 0, 1, 1, 1, 9, 1, 0x80, 2, 1, 5, 0, 4, 3, 1, 2, 3));
    assert_string_equal(found.end, "exit");
    assert_int_equal(found.status, 5);
    assert_int_equal(found.damages, 0);
}

static void malformed_process(void **state)
{
    (void)state;
    const struct found found[] = {with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 2)),
            with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 7, 2, 'a')),
            with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 2, 1, 0x80)),
            with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 2, 0)),
            with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 40, 0x80)),
            with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7, 23, 0))};
    for (unsigned i = 0; i < sizeof found / sizeof *found; i++) {
        assert_int_equal(found[i].damages, 1);
        assert_false(found[i].known);
        assert_int_equal(found[i].pid, 0);
    }
    const struct found good = with_block(MS_BLOCK_PROCESS, BYTES(1, 1, 7));
    assert_true(good.known && good.pid == 7 && good.damages == 0);
}

static void malformed_end(void **state)
{
    (void)state;
    const struct found found[] = {with_block(MS_BLOCK_END, BYTES(1, 1, 1, 2)),
            with_block(MS_BLOCK_END, BYTES(1, 1, 1, 2, 0)),
            with_block(MS_BLOCK_END, BYTES(1, 1, 1, 2, 2, 0x80, 0x80)),
            with_block(MS_BLOCK_END, BYTES(1, 1, 1, 3, 0)),
            with_block(MS_BLOCK_END, BYTES(1, 1, 1, 3, 9, '/'))};
    for (unsigned i = 0; i < sizeof found / sizeof *found; i++) {
        assert_int_equal(found[i].damages, 1);
        assert_true(found[i].truncated);
        assert_string_equal(found[i].end, "open");
    }
}

// An end of a later format is an end; a number that is none of 32 bits is not another.
static void unknown_end(void **state)
{
    (void)state;
    const struct found found[] = {with_block(MS_BLOCK_END, BYTES(1, 1, 77)),
            with_block(MS_BLOCK_END, BYTES(1, 5, 0x81, 0x80, 0x80, 0x80, 0x10))}; // 2^32 + 1
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(found[i].end, "unknown");
        assert_false(found[i].truncated);
        assert_int_equal(found[i].damages, 0);
    }
}

static void mappings(void **state)
{
    (void)state;
    // At 0x10, and before its end at 0x08: a distance of -0x18.
    struct found found = with_block(
            MS_BLOCK_MODULES, BYTES(2, 0x10, 0x10, 0, 1, 'b', 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 1, 4, 0, 1, 'a', 'x'));
    assert_int_equal(found.mappings, 2);
    assert_int_equal(found.damages, 0);
    assert_int_equal(with_block(MS_BLOCK_MODULES, BYTES(0)).damages, 0);
}

static void malformed_mappings(void **state)
{
    (void)state;
    const struct found found[] = {with_block(MS_BLOCK_MODULES, BYTES(2, 0x10, 0x10, 0, 1, 'b')),
            with_block(MS_BLOCK_MODULES, BYTES(1, 0x10, 0x10, 0, 2, 'b')),
            with_block(MS_BLOCK_MODULES, BYTES(0x80)),
            // [16, 2^64 + 15): beyond the end of all addresses.
            with_block(MS_BLOCK_MODULES,
                    BYTES(1, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0)),
            // [2^64 - 1, 2^64).
            with_block(MS_BLOCK_MODULES,
                    BYTES(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0))};
    for (unsigned i = 0; i < sizeof found / sizeof *found; i++) {
        assert_int_equal(found[i].damages, 1);
        assert_int_equal(found[i].mappings, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(unknown_properties),
            cmocka_unit_test(malformed_process),
            cmocka_unit_test(malformed_end),
            cmocka_unit_test(unknown_end),
            cmocka_unit_test(mappings),
            cmocka_unit_test(malformed_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
