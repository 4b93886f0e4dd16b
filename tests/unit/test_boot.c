// SPDX-License-Identifier: MIT
// The shim's bootstrap pool: alignment, sizes, ownership, and its end.
#include "check.h"

#include <real.h>

static void alignment_and_size(void **state)
{
    (void)state;
    char *before = NULL;
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 0; size < 100; size += 33) {
            char *block = ms_boot_alloc(size, align);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % (align < 16 ? 16 : align), 0);
            assert_int_equal(ms_boot_size(block), size);
            assert_true(ms_boot_owns(block));
            assert_true(block > before);
            memset(block, 0xa5, size);
            assert_true(before == NULL || before + ms_boot_size(before) <= block - 8);
            before = block;
        }
    }
}

static void ownership(void **state)
{
    (void)state;
    int local;
    assert_true(ms_boot_owns(ms_boot_pool));
    assert_true(ms_boot_owns(ms_boot_pool + MS_BOOT_SIZE - 1));
    assert_false(ms_boot_owns(ms_boot_pool + MS_BOOT_SIZE));
    assert_false(ms_boot_owns(ms_boot_pool - 1));
    assert_false(ms_boot_owns(&local));
    assert_false(ms_boot_owns(NULL));
}

// Sizes that cannot be served take nothing from those that can.
static void absurd_sizes(void **state)
{
    (void)state;
    assert_null(ms_boot_alloc(SIZE_MAX, 16));
    assert_null(ms_boot_alloc(SIZE_MAX - 15, 16));
    assert_null(ms_boot_alloc(MS_BOOT_SIZE + 1, 16));
    assert_null(ms_boot_alloc(16, SIZE_MAX / 2 + 1));
    assert_non_null(ms_boot_alloc(16, 16));
}

// The last block ends inside of the pool; from then on there is none. Runs last.
static void exhaustion(void **state)
{
    (void)state;
    unsigned blocks = 0;
    for (char *block; (block = ms_boot_alloc(1000, 64)) != NULL; blocks++) {
        assert_true(ms_boot_owns(block) && ms_boot_owns(block + 999));
        memset(block, 0xa5, 1000);
    }
    assert_true(blocks > 20 && blocks < MS_BOOT_SIZE / 1000);
    while (ms_boot_alloc(0, 16) != NULL)
        blocks++;
    for (unsigned i = 0; i < 1000; i++)
        assert_null(ms_boot_alloc(i, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(alignment_and_size),
            cmocka_unit_test(ownership),
            cmocka_unit_test(absurd_sizes),
            cmocka_unit_test(exhaustion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
