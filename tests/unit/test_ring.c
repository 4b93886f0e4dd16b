// SPDX-License-Identifier: MIT
// The shim's encoder of full buffers: what comes out of a sealed block is what stood in the slots,
// and the counters are those of adding the events one by one. The slots hold what programs make:
// tight loops, churn, events of two slots, and holes.
#define _GNU_SOURCE
#include "build.h"
#include "check.h"
#include "events.h"

#include <pack.h>
#include <ring.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE  UINT64_C(1000000)
#define FLOOR 20
#define SLOTS MS_LIVE_SLOTS

// A buffer while it is filled.
struct filling {
    uint64_t *slots;
    uint32_t used;
    uint64_t random;
    struct events_heap heap;
};

static uint64_t *take(struct filling *f, uint32_t count)
{
    uint64_t *slot = f->slots + (size_t)f->used * MS_SLOT_WORDS;
    if (f->used + count > SLOTS)
        return NULL;
    f->used += count;
    return slot;
}

static void put(struct filling *f, const struct ms_event *e)
{
    uint64_t *slot = take(f, ms_slot_needs_ext(e) ? 2 : 1);
    if (slot != NULL)
        ms_slot_store(slot, e, BASE);
}

static struct ms_event hit(enum ms_kind kind, uint64_t size, uint64_t ptr)
{
    return (struct ms_event){.kind = (uint8_t)kind,
            .attr = kind == MS_KIND_FREE ? MS_FREE_TCACHE : MS_ALLOC_TCACHE,
            .ptr = ptr,
            .size = kind == MS_KIND_FREE ? 0 : size,
            .usable = (size + 7) / 16 * 16 + 8,
            .caller = 0x401000 + (kind == MS_KIND_FREE)};
}

// A slot that was taken and never filled; the second half of an event without its first.
static void hole(struct filling *f)
{
    const struct ms_event wide = {.kind = MS_KIND_REALLOC, .ptr = 0x1000, .aux = 0x2000};
    uint64_t *slot = take(f, 1);
    if (slot != NULL && guard_random(&f->random) & 1)
        slot[1] = 24;
    if (guard_random(&f->random) & 1 || (slot = take(f, 2)) == NULL)
        return;
    ms_slot_store(slot, &wide, BASE);
    slot[0] = 0;
}

// malloc, free; or malloc, malloc, free, free: so often that the loop's end cuts it anywhere. Now
// and then a timed call among them, as the shim times one in some, or a hole.
static void loop(struct filling *f, unsigned period)
{
    uint64_t size = guard_random(&f->random) % 200, ptr = 0x5581c0a012a0;
    const struct ms_event two[] = {hit(MS_KIND_MALLOC, size, ptr), hit(MS_KIND_FREE, size, ptr)};
    const struct ms_event four[] = {hit(MS_KIND_MALLOC, size, ptr),
            hit(MS_KIND_MALLOC, size + 16, ptr + 512), hit(MS_KIND_FREE, size + 16, ptr + 512),
            hit(MS_KIND_FREE, size, ptr)};
    uint64_t times = guard_random(&f->random) % 100;
    for (uint64_t i = 0; i < times; i++) {
        struct ms_event e = period == 2 ? two[i % 2] : four[i % 4];
        if (guard_random(&f->random) % 32 == 0) {
            e.attr |= MS_ATTR_TIMED;
            e.start = BASE + f->used;
            e.cost = guard_random(&f->random) % 1000;
            e.weight_log2 = 5;
        }
        put(f, &e);
        if (guard_random(&f->random) % 64 == 0)
            hole(f);
    }
}

static void churn(struct filling *f)
{
    for (uint64_t left = guard_random(&f->random) % 100; left > 0; left--) {
        struct ms_event e = events_heap_next(&f->heap);
        put(f, &e);
    }
}

static void fill(struct filling *f, uint64_t seed)
{
    memset(f->slots, 0, SLOTS * MS_SLOT_BYTES);
    f->used = 0;
    f->random = seed;
    events_heap_open(&f->heap, seed, BASE);
    uint32_t limit = seed % 3 == 0 ? SLOTS : (uint32_t)(guard_random(&f->random) % SLOTS);
    while (f->used < limit && f->used + 2 <= SLOTS) {
        struct ms_event e = events_random(&f->random, BASE);
        switch (guard_random(&f->random) % 8) {
        case 0:
            hole(f);
            break;
        case 1:
            put(f, &e);
            break;
        case 2:
            churn(f);
            break;
        case 3:
        case 4:
            loop(f, 4);
            break;
        default:
            loop(f, 2);
            break;
        }
    }
}

// The events of the slots by the format's own rule, with their counters. Returns how many; *lost
// is the number of those that are not whole and have one behind them.
static size_t load(const struct filling *f, struct ms_event *events, struct ms_counters *counters,
        uint64_t *lost)
{
    size_t count = 0;
    uint64_t holes = 0;
    *lost = 0;
    memset(counters, 0, sizeof *counters);
    for (uint32_t at = 0; at < f->used;) {
        const uint64_t *slot = f->slots + (size_t)at * MS_SLOT_WORDS;
        unsigned taken = ms_slot_load(slot, f->used - at, BASE, &events[count]);
        at += taken ? taken : 1;
        if (taken == 0) {
            holes += (slot[0] & 0xff) != MS_KIND_EXT;
            continue;
        }
        *lost = holes;
        ms_counters_add(counters, &events[count], FLOOR, 1);
        count++;
    }
    return count;
}

// Decompresses the block's frame and compares it with what was expected.
static void check_block(const struct ms_block *block, const struct ms_event *events, size_t count,
        const struct ms_counters *expected)
{
    static uint8_t raw[1 << 20];
    static struct ms_signature signatures[SLOTS];
    static struct ms_counters counters;
    struct ms_decoder x;
    struct ms_event e;
    assert_int_equal(
            ZSTD_decompress(raw, sizeof raw, block + 1, block->stored_size), block->raw_size);
    assert_true(ZSTD_getFrameContentSize(block + 1, block->stored_size) == block->raw_size);
    struct ms_cursor in = {raw, raw + block->raw_size, false};
    assert_int_equal(ms_columns_open(&x, &in, signatures, SLOTS), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(ms_columns_get(&x, &e));
        assert_true(events_same(&e, &events[i]));
    }
    assert_true(!ms_decoder_bad(&x) && x.run_left == 0);
    in = ms_get_section(&in, ms_get_varint(&in));
    memset(&counters, 0, sizeof counters);
    ms_counters_decode(&in, &counters);
    assert_true(!in.bad && in.at == in.end);
    assert_memory_equal(&counters, expected, sizeof counters);
}

static uint64_t *slots_make(struct guard *g)
{
    *g = guard_make(SLOTS * MS_SLOT_BYTES);
    return (uint64_t *)(void *)g->bytes;
}

static void programs(void **state)
{
    (void)state;
    static struct filling f;
    static struct ms_event events[SLOTS];
    static struct ms_counters expected, counters;
    struct guard g;
    f.slots = slots_make(&g);
    uint64_t run_events = 0;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct ms_pack *pack = ms_pack_take();
        assert_non_null(pack);
        struct ms_encoder *encoder = ms_pack_encoder(pack, BASE);
        fill(&f, seed);
        uint64_t lost;
        size_t count = load(&f, events, &expected, &lost);
        memset(&counters, 0, sizeof counters);
        uint64_t holes = ms_ring_encode(f.slots, f.used, BASE, encoder, &counters, FLOOR);
        assert_int_equal(encoder->events, count);
        assert_true(holes >= lost); // second halves without a first may count
        assert_memory_equal(&counters, &expected, sizeof expected);
        run_events += count - encoder->count[MS_COL_SIGNATURE];
        struct ms_block *block = ms_pack_columns(pack, BASE, &counters);
        assert_non_null(block);
        check_block(block, events, count, &expected);
        ms_pack_give(pack);
    }
    assert_true(run_events > 10000); // the loops were found
    guard_free(&g);
}

static void an_empty_buffer(void **state)
{
    (void)state;
    static struct ms_counters counters;
    struct guard g;
    uint64_t *slots = slots_make(&g);
    struct ms_pack *pack = ms_pack_take();
    struct ms_encoder *encoder = ms_pack_encoder(pack, BASE);
    memset(&counters, 0, sizeof counters);
    assert_int_equal(ms_ring_encode(slots, 0, BASE, encoder, &counters, FLOOR), 0);
    assert_int_equal(ms_ring_encode(slots, SLOTS, BASE, encoder, &counters, FLOOR), 0);
    assert_int_equal(encoder->events, 0);
    check_block(ms_pack_columns(pack, BASE, &counters), NULL, 0, &counters);
    ms_pack_give(pack);
    guard_free(&g);
}

// The longest run there can be, to the last slot before the guard page.
static void one_long_loop(void **state)
{
    (void)state;
    static struct ms_event events[SLOTS];
    static struct ms_counters expected, counters;
    struct guard g;
    uint64_t lost;
    for (unsigned period = 2; period <= 4; period += 2) {
        struct filling f = {.slots = slots_make(&g)};
        for (unsigned i = 0; i < SLOTS; i++) {
            struct ms_event e = hit(i % 2 ? MS_KIND_FREE : MS_KIND_MALLOC, 24 + i % period, 0x1000);
            put(&f, &e);
        }
        struct ms_pack *pack = ms_pack_take();
        struct ms_encoder *encoder = ms_pack_encoder(pack, BASE);
        load(&f, events, &expected, &lost);
        memset(&counters, 0, sizeof counters);
        assert_int_equal(ms_ring_encode(f.slots, SLOTS, BASE, encoder, &counters, FLOOR), 0);
        assert_int_equal(encoder->count[MS_COL_RUN], 1);
        assert_int_equal(encoder->count[MS_COL_SIGNATURE], period + 1);
        check_block(ms_pack_columns(pack, BASE, &counters), events, SLOTS, &expected);
        ms_pack_give(pack);
        guard_free(&g);
    }
}

// An event that is not quick between two that are: it ends the stretch that a run may repeat.
static void a_loop_interrupted(void **state)
{
    (void)state;
    static struct ms_event events[SLOTS];
    static struct ms_counters expected, counters;
    struct guard g;
    struct filling f = {.slots = slots_make(&g)};
    struct ms_event e[] = {hit(MS_KIND_MALLOC, 24, 0x1000), hit(MS_KIND_FREE, 24, 0x1000),
            {.kind = MS_KIND_MALLOC, .attr = MS_ALLOC_ARENA, .ptr = 0x1000, .size = 9}};
    for (unsigned i = 0; i < 300; i++)
        put(&f, &e[i % 3]);
    struct ms_pack *pack = ms_pack_take();
    struct ms_encoder *encoder = ms_pack_encoder(pack, BASE);
    uint64_t lost;
    size_t count = load(&f, events, &expected, &lost);
    memset(&counters, 0, sizeof counters);
    ms_ring_encode(f.slots, f.used, BASE, encoder, &counters, FLOOR);
    assert_int_equal(encoder->count[MS_COL_RUN], 0);
    check_block(ms_pack_columns(pack, BASE, &counters), events, count, &expected);
    ms_pack_give(pack);
    guard_free(&g);
}

// Taking slots: the last ones, one too many, and a start that is too far from the base.
static void taking(void **state)
{
    (void)state;
    struct guard g;
    uint64_t *slots = slots_make(&g), *end = slots + 3 * MS_SLOT_WORDS;
    struct ms_ring ring = {slots, end, slots, slots};
    struct ms_event one = {.kind = MS_KIND_MALLOC}, two = {.kind = MS_KIND_REALLOC, .aux = 1};
    assert_true(ms_ring_put(&ring, &one, BASE));
    assert_ptr_equal(ring.done, slots + MS_SLOT_WORDS);
    assert_true(ms_ring_put(&ring, &two, BASE));
    assert_false(ms_ring_put(&ring, &one, BASE));
    assert_ptr_equal(ring.next, end);
    assert_ptr_equal(ring.done, end);
    assert_ptr_equal(ring.mark, slots);
    ring.next = slots + 2 * MS_SLOT_WORDS;
    assert_false(ms_ring_put(&ring, &two, BASE));
    assert_ptr_equal(ring.next, slots + 2 * MS_SLOT_WORDS);
    ring.next = slots;
    one.attr = MS_ATTR_TIMED;
    one.start = BASE + MS_LOW40;
    assert_true(ms_ring_put(&ring, &one, BASE));
    assert_ptr_equal(ring.mark, slots + MS_SLOT_WORDS);
    one.start++;
    assert_false(ms_ring_put(&ring, &one, BASE));
    one.start = BASE - 1;
    assert_false(ms_ring_put(&ring, &one, BASE));
    assert_ptr_equal(ring.next, slots + MS_SLOT_WORDS);
    guard_free(&g);
}

// Workspaces are used again, one thread's after the other's.
static void workspaces(void **state)
{
    (void)state;
    struct ms_pack *first = ms_pack_take(), *second = ms_pack_take();
    assert_ptr_not_equal(first, second);
    ms_pack_give(first);
    assert_ptr_equal(ms_pack_take(), first);
    ms_pack_give(first);
    ms_pack_give(second);
}

// A child's workspace is not its parent's: that is not there at all, and would end it if touched.
static void workspaces_of_a_child(void **state)
{
    (void)state;
    int status = -1;
    struct ms_pack *pack = ms_pack_take();
    memset(ms_pack_raw(pack), 1, MS_PACK_RAW);
    pid_t child = fork();
    if (child == 0) {
        unsigned char seen;
        bool inherited = mincore(pack, 1, &seen) == 0;
        ms_pack_after_fork();
        struct ms_pack *own = ms_pack_take();
        bool is_new = own != NULL && ms_pack_raw(own)[0] == 0;
        _exit(inherited ? 1 : is_new ? 0 : 2);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ms_pack_give(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(programs),
            cmocka_unit_test(an_empty_buffer),
            cmocka_unit_test(one_long_loop),
            cmocka_unit_test(a_loop_interrupted),
            cmocka_unit_test(taking),
            cmocka_unit_test(workspaces),
            cmocka_unit_test(workspaces_of_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
