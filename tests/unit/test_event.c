// SPDX-License-Identifier: MIT
// event.h: slots of a live block, whole and half-written, and the table of kinds.
#include <memspy/event.h>

#include "check.h"
#include "events.h"

#define BASE UINT64_C(123456789012)

// Stores e where its last slot lies against the guard page, and loads it again.
static unsigned through_slots(const struct ms_event *e, struct ms_event *back)
{
    unsigned slots = ms_slot_needs_ext(e) ? 2 : 1;
    struct guard g = guard_make(slots * MS_SLOT_BYTES);
    uint64_t *slot = (uint64_t *)(void *)g.bytes;
    memset(back, 0xa5, sizeof *back);
    ms_slot_store(slot, e, BASE);
    unsigned taken = ms_slot_load(slot, slots, BASE, back);
    guard_free(&g);
    assert_int_equal(taken, slots);
    return taken;
}

static void random_events(void **state)
{
    (void)state;
    uint64_t seed = 7;
    unsigned narrow = 0, wide = 0;
    for (unsigned i = 0; i < 5000; i++) {
        struct ms_event e = events_random(&seed, BASE), back;
        *(through_slots(&e, &back) == 2 ? &wide : &narrow) += 1;
        assert_true(events_same(&e, &back));
    }
    assert_true(narrow > 100);
    assert_true(wide > 100);
}

static void usual_events_take_one_slot(void **state)
{
    (void)state;
    struct events_heap heap;
    events_heap_open(&heap, 11, BASE);
    for (unsigned i = 0; i < 2000; i++) {
        struct ms_event e = events_heap_next(&heap), back;
        assert_int_equal(through_slots(&e, &back), 1);
        assert_true(events_same(&e, &back));
    }
}

// The greatest value of each field that one slot holds, and one more.
static void limits_of_the_first_slot(void **state)
{
    (void)state;
    const struct ms_event fits = {.kind = MS_KIND_MALLOC,
            .attr = MS_ATTR_TIMED,
            .ptr = MS_LOW48,
            .size = MS_LOW48,
            .usable = MS_LOW48 + 0xffff,
            .caller = MS_LOW48,
            .start = BASE + MS_LOW40,
            .cost = MS_LOW24,
            .weight_log2 = 15};
    struct ms_event e = fits, back;
    assert_int_equal(through_slots(&e, &back), 1);
    assert_true(events_same(&e, &back));
    uint64_t *fields[] = {&e.ptr, &e.usable, &e.cost, &e.aux};
    for (unsigned i = 0; i < 4; i++) {
        e = fits;
        ++*fields[i];
        assert_int_equal(through_slots(&e, &back), 2);
        assert_true(events_same(&e, &back));
    }
    e = fits;
    e.size++;
    e.usable++;
    assert_int_equal(through_slots(&e, &back), 2);
    assert_true(events_same(&e, &back));
}

static void usable_below_size(void **state)
{
    (void)state;
    struct ms_event e = {.kind = MS_KIND_MALLOC, .attr = MS_ATTR_FAILED, .size = UINT64_MAX}, back;
    assert_int_equal(through_slots(&e, &back), 2);
    assert_true(events_same(&e, &back));
    e.size = 1;
    assert_int_equal(through_slots(&e, &back), 2);
    assert_true(events_same(&e, &back));
}

static void a_cost_too_wide_is_the_widest(void **state)
{
    (void)state;
    struct ms_event e = {.kind = MS_KIND_MALLOC, .attr = MS_ATTR_TIMED, .start = BASE}, back;
    e.cost = UINT64_MAX;
    assert_int_equal(through_slots(&e, &back), 2);
    assert_true(back.cost == MS_LOW40);
    e.cost = MS_LOW40 + 1;
    through_slots(&e, &back);
    assert_true(back.cost == MS_LOW40);
}

static void holes(void **state)
{
    (void)state;
    uint64_t slot[8] = {0};
    struct ms_event e;
    assert_int_equal(ms_slot_load(slot, 2, BASE, &e), 0);
    // Everything but word 0 is there: the writer was stopped before its last store.
    const struct ms_event half = {.kind = MS_KIND_MALLOC, .ptr = 0x1000, .size = 8, .usable = 24};
    ms_slot_store(slot, &half, BASE);
    slot[0] = 0;
    assert_int_equal(ms_slot_load(slot, 2, BASE, &e), 0);
}

static void orphan_second_slots(void **state)
{
    (void)state;
    uint64_t slot[8] = {0};
    const struct ms_event wide = {.kind = MS_KIND_REALLOC, .ptr = 0x1000, .aux = 0x2000};
    struct ms_event e;
    ms_slot_store(slot, &wide, BASE);
    assert_int_equal(ms_slot_load(slot, 2, BASE, &e), 2);
    // The second slot alone.
    assert_int_equal(ms_slot_load(slot + 4, 1, BASE, &e), 0);
    // The first slot says that there is a second, which is not.
    slot[4] = 0;
    assert_int_equal(ms_slot_load(slot, 2, BASE, &e), 0);
    slot[4] = MS_KIND_MALLOC;
    assert_int_equal(ms_slot_load(slot, 2, BASE, &e), 0);
}

// Loading at the end of a block reads nothing beyond it: with no slot left, not even the first.
static void the_end_of_a_block(void **state)
{
    (void)state;
    const struct ms_event wide = {.kind = MS_KIND_REALLOC, .ptr = 0x1000, .aux = 0x2000};
    uint64_t slots[8];
    struct ms_event e;
    ms_slot_store(slots, &wide, BASE);
    struct guard g = guard_make(MS_SLOT_BYTES);
    memcpy(g.bytes, slots, MS_SLOT_BYTES);
    uint64_t *slot = (uint64_t *)(void *)g.bytes;
    assert_int_equal(ms_slot_load(slot, 1, BASE, &e), 0);
    assert_int_equal(ms_slot_load(slot + MS_SLOT_WORDS, 0, BASE, &e), 0);
    guard_free(&g);
}

static void any_bytes(void **state)
{
    (void)state;
    uint64_t seed = 13;
    struct guard g = guard_make(2 * MS_SLOT_BYTES);
    uint64_t *slot = (uint64_t *)(void *)g.bytes;
    struct ms_event e;
    for (unsigned i = 0; i < 20000; i++) {
        for (unsigned j = 0; j < 8; j++)
            slot[j] = guard_random_wide(&seed);
        assert_true(ms_slot_load(slot, 2, BASE, &e) <= 2);
        assert_true(ms_slot_load(slot + 4, 1, BASE, &e) <= 1);
    }
    guard_free(&g);
}

static void table_of_kinds(void **state)
{
    (void)state;
    unsigned known = 0;
    for (unsigned kind = 0; kind < 256; kind++) {
        unsigned fields = ms_kind_fields(kind);
        assert_int_equal(fields != 0, ms_kind_name(kind) != NULL);
        if (fields == 0)
            continue;
        known++;
        assert_true(kind < MS_KIND_LIMIT);
        // The columns rely on it: a kind without fields is unknown, and each has an address.
        assert_true(fields & MS_F_PTR);
        if (fields & MS_F_OLD)
            assert_true(fields & MS_F_AUX);
    }
    assert_int_equal(known, 20);
    assert_string_equal(ms_kind_name(MS_KIND_MREMAP), "mremap");
    assert_int_equal(ms_kind_class(MS_KIND_FREE_SIZED), MS_CLASS_FREE);
}

static void who_frees(void **state)
{
    (void)state;
    const struct ms_event freed = {.kind = MS_KIND_REALLOC, .attr = MS_ATTR_FREED | MS_FREE_TRIM};
    const struct ms_event moved = {.kind = MS_KIND_REALLOC, .attr = MS_ALLOC_MREMAP};
    const struct ms_event plain = {.kind = MS_KIND_FREE};
    assert_true(ms_event_frees(&freed));
    assert_false(ms_event_frees(&moved));
    assert_true(ms_event_frees(&plain));
    assert_int_equal(ms_event_path(&freed), MS_FREE_TRIM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(random_events),
            cmocka_unit_test(usual_events_take_one_slot),
            cmocka_unit_test(limits_of_the_first_slot),
            cmocka_unit_test(usable_below_size),
            cmocka_unit_test(a_cost_too_wide_is_the_widest),
            cmocka_unit_test(holes),
            cmocka_unit_test(orphan_second_slots),
            cmocka_unit_test(the_end_of_a_block),
            cmocka_unit_test(any_bytes),
            cmocka_unit_test(table_of_kinds),
            cmocka_unit_test(who_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
