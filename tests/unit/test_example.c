// SPDX-License-Identifier: MIT
// The worked example of FORMAT.md section 11, read from the document itself: its bytes decode to
// the events it tells of, and the encoders write the same bytes.
#include "build.h"
#include "check.h"

#include <stdio.h>

#define BASE   1000000
#define EVENTS 8

#define FREE                                                                                       \
    {                                                                                              \
        .kind = MS_KIND_FREE, .attr = MS_FREE_TCACHE, .ptr = 0x5581c0a012a0, .usable = 24,         \
        .caller = 0x5581bf001190                                                                   \
    }
#define MALLOC                                                                                     \
    {                                                                                              \
        .kind = MS_KIND_MALLOC, .attr = MS_ALLOC_TCACHE, .ptr = 0x5581c0a012a0, .size = 20,        \
        .usable = 24, .caller = 0x5581bf001169                                                     \
    }

static const struct ms_event expected[EVENTS] = {
        {.kind = MS_KIND_MALLOC,
                .attr = MS_ALLOC_ARENA | MS_ATTR_TIMED,
                .ptr = 0x5581c0a012a0,
                .size = 24,
                .usable = 24,
                .caller = 0x5581bf001169,
                .start = BASE + 5,
                .cost = 210},
        FREE,
        MALLOC,
        FREE,
        MALLOC,
        FREE,
        MALLOC,
        {.kind = MS_KIND_REALLOC,
                .attr = MS_ALLOC_ARENA,
                .ptr = 0x5581c0a012c0,
                .size = 40,
                .usable = 40,
                .caller = 0x5581bf0011b0,
                .aux = 0x5581c0a012a0},
};

static struct ms_counters counters(void)
{
    struct ms_counters c;
    memset(&c, 0, sizeof c);
    for (unsigned i = 0; i < EVENTS; i++)
        ms_counters_add(&c, &expected[i], 20, 1);
    c.tally[MS_TALLY_FREE_NULL] = 1;
    return c;
}

// Appends the bytes of a line, up to its '|', to out.
static size_t parse_line(const char *line, uint8_t *out, size_t size, size_t room)
{
    unsigned byte;
    int used;
    while (*line != '|' && sscanf(line, " %2x%n", &byte, &used) == 1) {
        assert_true(size < room);
        out[size++] = (uint8_t)byte;
        line += used;
        line += strspn(line, " ");
    }
    return size;
}

// The bytes of the block "```hex NAME" of the document.
static size_t example(const char *name, uint8_t *out, size_t room)
{
    char line[512], fence[32];
    bool inside = false;
    size_t size = 0;
    FILE *file = fopen(MEMSPY_FORMAT_MD, "r");
    assert_non_null(file);
    snprintf(fence, sizeof fence, "```hex %s\n", name);
    while (fgets(line, sizeof line, file)) {
        if (inside && line[0] == '`')
            break;
        if (inside)
            size = parse_line(line, out, size, room);
        inside |= strcmp(line, fence) == 0;
    }
    fclose(file);
    return size;
}

static void header(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(struct ms_file_header)];
    const size_t fixed = offsetof(struct ms_file_header, pad0);
    struct build b;
    build_begin(&b, MS_HEADER_SIZE, MS_LIVE_SIZE);
    assert_int_equal(example("header", bytes, sizeof bytes), fixed);
    assert_memory_equal(bytes, b.bytes, fixed);
    free(b.bytes);
}

static void block(void **state)
{
    (void)state;
    struct ms_block block;
    assert_int_equal(example("block", (uint8_t *)&block, sizeof block), sizeof block);
    assert_int_equal(block.magic, MS_BLOCK_MAGIC);
    assert_int_equal(block.crc, ms_crc32(&block, offsetof(struct ms_block, crc)));
    assert_int_equal(block.type, MS_BLOCK_EVENTS);
    assert_int_equal(block.events, EVENTS);
    uint8_t stored[256], raw[256], content[256];
    size_t size = example("stored", stored, sizeof stored);
    assert_int_equal(size, block.stored_size);
    assert_true(ZSTD_getFrameContentSize(stored, size) == block.raw_size);
    assert_int_equal(ZSTD_decompress(content, sizeof content, stored, size), block.raw_size);
    assert_int_equal(example("raw", raw, sizeof raw), block.raw_size);
    assert_memory_equal(content, raw, block.raw_size);
}

static void events(void **state)
{
    (void)state;
    uint8_t raw[256];
    struct ms_signature signatures[EVENTS];
    size_t size = example("raw", raw, sizeof raw);
    struct ms_cursor in = {raw, raw + size, false};
    struct ms_decoder x;
    assert_int_equal(ms_columns_open(&x, &in, signatures, EVENTS), EVENTS);
    for (unsigned i = 0; i < EVENTS; i++) {
        struct ms_event e;
        assert_true(ms_columns_get(&x, &e));
        assert_memory_equal(&e, &expected[i], sizeof e);
    }
    assert_false(ms_decoder_bad(&x));

    static struct ms_counters read;
    memset(&read, 0, sizeof read);
    struct ms_counters written = counters();
    struct ms_cursor totals = ms_get_section(&in, ms_get_varint(&in));
    ms_counters_decode(&totals, &read);
    assert_false(totals.bad);
    assert_ptr_equal(totals.at, raw + size);
    assert_memory_equal(&read, &written, sizeof read);
}

static void encoder(void **state)
{
    (void)state;
    uint8_t raw[256], *built;
    struct ms_counters c = counters();
    size_t size = build_columns(&built, expected, EVENTS, BASE, &c, BUILD_RUNS);
    assert_int_equal(example("raw", raw, sizeof raw), size);
    assert_memory_equal(built, raw, size);
    free(built);
}

static void slots(void **state)
{
    (void)state;
    uint64_t words[2 * MS_SLOT_WORDS], stored[2 * MS_SLOT_WORDS];
    struct ms_event e;
    memset(&e, 0, sizeof e);
    assert_int_equal(example("slots", (uint8_t *)words, sizeof words), sizeof words);
    assert_int_equal(ms_slot_load(words, 2, BASE, &e), 2);
    assert_memory_equal(&e, &expected[EVENTS - 1], sizeof e);
    ms_slot_store(stored, &expected[EVENTS - 1], BASE);
    assert_memory_equal(stored, words, sizeof words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(header),
            cmocka_unit_test(block),
            cmocka_unit_test(events),
            cmocka_unit_test(encoder),
            cmocka_unit_test(slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
