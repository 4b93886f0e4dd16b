// SPDX-License-Identifier: MIT
// The analyzer's reader on traces that are whole on the outside: frames and checksums are right,
// what is in them is not. And what it makes of slots that hold no whole event.
#include "through.h"

#define COUNT 20

static void usual(struct ms_event *events, uint64_t seed, uint64_t base)
{
    struct events_heap heap;
    events_heap_open(&heap, seed, base);
    for (unsigned i = 0; i < COUNT; i++)
        events[i] = events_heap_next(&heap);
}

// The content of an EVENTS block; a test then breaks it.
struct content {
    uint8_t *raw;
    size_t size;
    size_t counters; // where they begin
};

static struct content content_make(const struct build *b, const struct ms_event *events)
{
    static struct ms_counters counters;
    struct ms_signature signatures[COUNT];
    struct ms_decoder x;
    struct content c;
    memset(&counters, 0, sizeof counters);
    for (unsigned i = 0; i < COUNT; i++)
        ms_counters_add(&counters, &events[i], 20, 1);
    c.size = build_columns(&c.raw, events, COUNT, b->ticks, &counters, BUILD_RUNS);
    struct ms_cursor in = {c.raw, c.raw + c.size, false};
    assert_int_equal(ms_columns_open(&x, &in, signatures, COUNT), COUNT);
    ms_get_varint(&in);
    c.counters = (size_t)(in.at - c.raw);
    return c;
}

static size_t content_put(struct build *b, const struct content *c, uint64_t sequence)
{
    const struct build_block k = {MS_BLOCK_EVENTS, 1, 1, sequence, COUNT};
    return build_put(b, &k, c->raw, c->size);
}

// Breaks a content in the `way`th way; false when there is no such way.
static bool break_content(struct content *c, unsigned way)
{
    static const struct {
        size_t at;
        uint8_t value;
    } ways[] = {
            {0, COUNT + 1}, {0, COUNT - 1}, {0, 0}, {4, 9}, {5, 0xff}, {6, 9}, {17, 200}, {26, 0}};
    const unsigned bytes = sizeof ways / sizeof *ways;
    if (way < bytes) {
        c->raw[ways[way].at] = ways[way].value;
        return true;
    }
    // The counters: the first number does not end, in the section or in the payload.
    if (way == bytes)
        memset(c->raw + c->counters, 0xff, c->size - c->counters);
    else if (way == bytes + 1)
        c->size--;
    else if (way == bytes + 2)
        c->size = c->counters - 1;
    return way <= bytes + 2;
}

static void content_free(struct content *c)
{
    free(c->raw);
    memset(c, 0, sizeof *c);
}

static void sound(void **state)
{
    (void)state;
    struct ms_event events[COUNT];
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    build_process(&b, 1, 0);
    usual(events, 1, b.ticks);
    struct content c = content_make(&b, events);
    content_put(&b, &c, 1);
    content_free(&c);
    struct found found = go_through(&b);
    assert_int_equal(found.events, COUNT);
    assert_int_equal(found.damages + found.missing + found.lost, 0);
}

// Killed between sealing and emptying, and what was sealed is malformed: the live block counts.
static void malformed_with_a_live_block(void **state)
{
    (void)state;
    for (unsigned way = 0;; way++) {
        struct ms_event events[COUNT];
        struct build b;
        build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
        build_process(&b, 1, 0);
        usual(events, 2, b.ticks);
        struct content c = content_make(&b, events);
        bool broken = break_content(&c, way);
        size_t at = content_put(&b, &c, 1), end = b.size;
        content_free(&c);
        build_live(&b, (struct build_block){0, 1, 1, 1, 0}, events, COUNT, NULL);
        struct found found = go_through(&b);
        assert_int_equal(found.events, COUNT);
        assert_int_equal(found.lost + found.missing, 0);
        assert_int_equal(found.damages, broken);
        if (!broken)
            break;
        assert_int_equal(found.damage_offset, at);
        assert_int_equal(found.damage_size, end - at);
    }
}

// Of two sealed blocks of a buffer the first sound one counts.
static void malformed_with_a_copy(void **state)
{
    (void)state;
    for (unsigned way = 0;; way++) {
        struct ms_event events[COUNT];
        struct build b;
        build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
        build_process(&b, 1, 0);
        usual(events, 3, b.ticks);
        struct content good = content_make(&b, events), bad = content_make(&b, events);
        bool broken = break_content(&bad, way);
        size_t at = content_put(&b, &bad, 1);
        content_put(&b, &good, 1);
        content_free(&good);
        content_free(&bad);
        struct found found = go_through(&b);
        assert_int_equal(found.events, COUNT);
        assert_int_equal(found.lost + found.missing, 0);
        assert_int_equal(found.damages, broken);
        if (!broken)
            break;
        assert_int_equal(found.damage_offset, at);
    }
}

// Nothing stands in for it: what is lost is said, and its counters are not used.
static void malformed_alone(void **state)
{
    (void)state;
    for (unsigned way = 0;; way++) {
        struct ms_event events[COUNT];
        struct build b;
        build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
        build_process(&b, 1, 0);
        usual(events, 4, b.ticks);
        struct content c = content_make(&b, events);
        content_put(&b, &c, 1);
        bool broken = break_content(&c, way);
        size_t at = content_put(&b, &c, 2), end = b.size;
        content_free(&c);
        struct found found = go_through(&b);
        assert_int_equal(found.events + found.lost, 2 * COUNT);
        assert_true(found.rows == found.events);
        assert_int_equal(found.damages, broken);
        if (!broken)
            break;
        assert_int_equal(found.damage_offset, at);
        assert_int_equal(found.damage_size, end - at);
    }
}

// A free never has a guess for its usable size, nor a kind without aux none of it.
static void marks_without_fields(void **state)
{
    (void)state;
    static const uint8_t bad[][2] = {{MS_KIND_FREE, MS_MARK_GUESSED},
            {MS_KIND_FREE, MS_MARK_NO_AUX}, {MS_KIND_MALLOC, MS_MARK_NO_AUX},
            {MS_KIND_MMAP, MS_MARK_GUESSED}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (unsigned good = 0; good < 2; good++) {
            uint8_t marks = good ? 0xf0 : bad[i][1], kind = bad[i][0]; // 0xf0: reserved
            const uint8_t raw[] = {1, 0, MS_COLUMNS, 2, 1, MS_RUNS, 2, 1, 2, 2, 1, 24, 2, 1, 3, 2,
                    1, 7, 1, 0, 1, 0, 1, 0, 0, 4, kind, 0, marks, 10, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0, 0, 0, 0, 0, 0};
            struct build b;
            build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
            build_put(&b, &(struct build_block){MS_BLOCK_EVENTS, 1, 1, 1, 1}, raw, sizeof raw);
            struct found found = go_through(&b);
            assert_int_equal(found.damages, !good);
            assert_int_equal(found.events, good);
            assert_int_equal(found.lost, !good);
        }
    }
}

// Slots: word 2 of an event says what it weighs.
static void weights_of_slots(void **state)
{
    (void)state;
    for (unsigned wide = 0; wide < 2; wide++) {
        struct ms_event events[3];
        struct build b;
        build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
        build_process(&b, 1, 0);
        for (unsigned i = 0; i < 3; i++)
            events[i] = (struct ms_event){.kind = MS_KIND_REALLOC,
                    .attr = MS_ATTR_TIMED,
                    .ptr = 0x1000,
                    .size = 24,
                    .usable = 24,
                    .aux = wide ? 0x2000 : 0,
                    .start = b.ticks,
                    .weight_log2 = i == 1 ? 16 : 15};
        build_live(&b, (struct build_block){0, 1, 1, 1, 0}, events, 3, NULL);
        struct found found = go_through(&b);
        assert_int_equal(found.events, 2);
        assert_int_equal(found.lost, 1);
        assert_int_equal(found.unfinished, 1);
        assert_int_equal(found.damages, 0);
    }
}

// First halves without a second, second halves without a first, holes, kinds of a later format.
static void halves_of_events(void **state)
{
    (void)state;
    const struct ms_event wide = {.kind = MS_KIND_REALLOC, .ptr = 0x1000, .aux = 0x2000};
    const struct ms_event narrow = {.kind = MS_KIND_MALLOC, .ptr = 0x1000, .size = 8, .usable = 24};
    const struct ms_event later = {.kind = 60, .ptr = 0x1000};
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, LIVE_SIZE);
    build_process(&b, 1, 0);
    size_t at = build_live(&b, (struct build_block){0, 1, 1, 1, 0}, NULL, 0, NULL);
    uint64_t *slot = (uint64_t *)(void *)(b.bytes + at + sizeof(struct ms_live));
    ms_slot_store(slot, &narrow, b.ticks);
    ms_slot_store(slot + 4, &wide, b.ticks); // whole
    ms_slot_store(slot + 12, &wide, b.ticks);
    ms_slot_store(slot + 16, &narrow, b.ticks); // over the second half: one lost, this one is read
    ms_slot_store(slot + 20, &wide, b.ticks);
    slot[20] = 0; // the first half was not finished: one lost, though two slots
    ms_slot_store(slot + 28, &later, b.ticks);  // one lost
    ms_slot_store(slot + 36, &narrow, b.ticks); // before it a hole: one lost
    struct found found = go_through(&b);
    assert_int_equal(found.events, 4);
    assert_int_equal(found.unfinished, 4);
    assert_int_equal(found.lost, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(sound),
            cmocka_unit_test(malformed_with_a_live_block),
            cmocka_unit_test(malformed_with_a_copy),
            cmocka_unit_test(malformed_alone),
            cmocka_unit_test(marks_without_fields),
            cmocka_unit_test(weights_of_slots),
            cmocka_unit_test(halves_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
