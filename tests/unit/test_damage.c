// SPDX-License-Identifier: MIT
// The analyzer's reader against a trace that is cut at every byte, and one whose every byte is
// changed in turn: it never fails, and every block that was not touched is read as before, even
// the copy in a live block when the sealed block is the one that broke.
// Live blocks are small in this trace, but for the test of the file's header: a reader goes on with
// the usual size when the header is damaged. Where a block holds only unused slots, a byte in
// STRIDE is tried.
#include "build.h"
#include "check.h"
#include "events.h"

#include "../../analyzer/reader.h"

#define STRIDE 1021
#define SMALL  4096
#define BLOCKS 16
#define COUNT  40

// One buffer of events: where it stands and what was read of it.
struct buffer {
    uint64_t id; // process, thread and sequence
    uint64_t count;
    uint64_t hash;
};

struct content {
    struct buffer buffers[BLOCKS];
    size_t count;
    bool damaged;
    bool truncated;
};

// The trace: what it is made of, by offset, and each block's end and buffer; a copy has the same
// buffer as its original.
static struct trace {
    struct build file;
    size_t begin[BLOCKS];
    size_t end[BLOCKS];
    size_t used[BLOCKS]; // up to here every byte is tried
    uint64_t id[BLOCKS]; // 0 for a block without events
    size_t blocks;
    struct content content;
} trace;

static uint64_t buffer_id(uint32_t process, uint32_t thread, uint64_t sequence)
{
    return (uint64_t)process << 32 | (uint64_t)thread << 16 | sequence;
}

static uint64_t hash_event(uint64_t hash, const struct ms_event *e)
{
    const uint64_t words[] = {e->kind, e->attr, e->align_log2, e->weight_log2, e->ptr, e->size,
            e->usable, e->caller, e->aux, e->start, e->cost};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static void read_buffer(
        struct ms_reader *reader, const struct ms_entry *entry, struct content *content)
{
    static struct ms_counters counters;
    struct ms_batch batch = {0};
    struct ms_event e;
    struct buffer *to = &content->buffers[content->count];
    *to = (struct buffer){.id = buffer_id(entry->process, entry->thread, entry->sequence)};
    if (ms_reader_batch(reader, entry, &batch)) {
        while (ms_batch_next(&batch, &e)) {
            to->hash = hash_event(to->hash, &e);
            to->count++;
        }
        if (batch.live == NULL)
            ms_batch_counters(&batch, &counters);
    }
    assert_true(content->count < BLOCKS - 1);
    content->count++;
    ms_batch_free(&batch);
}

static enum ms_err read_trace(const uint8_t *bytes, size_t size, struct content *content)
{
    struct ms_reader reader = {0};
    memset(content, 0, sizeof *content);
    ms_source_memory(&reader.source, bytes, size);
    enum ms_err error = ms_reader_open(&reader);
    if (error) {
        ms_source_close(&reader.source);
        return error;
    }
    for (size_t i = 0; i < reader.entry_count; i++) {
        const struct ms_entry *entry = &reader.entries[i];
        if ((entry->type == MS_BLOCK_EVENTS || entry->type == MS_BLOCK_LIVE) && !entry->stale)
            read_buffer(&reader, entry, content);
    }
    content->damaged = ms_reader_is_damaged(&reader);
    content->truncated = ms_reader_is_truncated(&reader);
    ms_reader_close(&reader);
    return MS_OK;
}

static const struct buffer *find(const struct content *content, uint64_t id)
{
    for (size_t i = 0; i < content->count; i++)
        if (content->buffers[i].id == id)
            return &content->buffers[i];
    return NULL;
}

// Records a block that was just appended at `begin`, of which `used` bytes are worth every try.
static void note(size_t begin, size_t used, uint64_t id)
{
    size_t i = trace.blocks++;
    assert_true(i < BLOCKS);
    trace.begin[i] = begin;
    trace.end[i] = trace.file.size;
    trace.used[i] = used ? begin + used : trace.file.size;
    trace.id[i] = id;
}

static void add_events(struct build_block k, struct ms_counters *counters, uint64_t seed)
{
    struct ms_event events[COUNT];
    struct events_heap heap;
    events_heap_open(&heap, seed, trace.file.ticks);
    for (unsigned i = 0; i < COUNT; i++)
        events[i] = events_heap_next(&heap);
    size_t live_used = sizeof(struct ms_live) + COUNT * MS_SLOT_BYTES;
    if (k.type == MS_BLOCK_LIVE)
        note(build_live(&trace.file, k, events, COUNT, counters), live_used,
                buffer_id(k.process, k.thread, k.sequence));
    else
        note(build_events(&trace.file, k, events, COUNT, counters), 0,
                buffer_id(k.process, k.thread, k.sequence));
}

static void make_trace(uint32_t live_size)
{
    static struct ms_counters totals[4];
    struct build *b = &trace.file;
    free(b->bytes);
    memset(&trace, 0, sizeof trace);
    memset(totals, 0, sizeof totals);
    build_begin(b, MS_HEADER_SIZE, live_size);
    note(build_process(b, 1, 0), 0, 0);
    note(build_modules(b, 1), 0, 0);
    add_events((struct build_block){MS_BLOCK_EVENTS, 1, 1, 1, 0}, &totals[1], 1);
    add_events((struct build_block){MS_BLOCK_EVENTS, 1, 1, 2, 0}, &totals[1], 2);
    add_events((struct build_block){MS_BLOCK_LIVE, 1, 1, 3, 0}, &totals[1], 3);
    note(build_process(b, 2, 1), 0, 0);
    add_events((struct build_block){MS_BLOCK_EVENTS, 2, 2, 1, 0}, &totals[2], 4);
    // Killed between sealing and reuse: both have the buffer. Same seed and clock, same events.
    b->ticks -= 1000;
    add_events((struct build_block){MS_BLOCK_LIVE, 2, 2, 1, 0}, &totals[2], 4);
    note(build_live(b, (struct build_block){MS_BLOCK_LIVE, 0, 0, 0, 0}, NULL, 0, NULL),
            sizeof(struct ms_live), 0);
    add_events((struct build_block){MS_BLOCK_EVENTS, 1, 3, 1, 0}, &totals[3], 5);
    note(build_end_block(b, 2, 2), 0, 0);
    note(build_end_block(b, 1, 1), 0, 0);
    build_end(b);
    assert_int_equal(read_trace(b->bytes, b->size, &trace.content), MS_OK);
}

static int make_small_trace(void **state)
{
    (void)state;
    make_trace(SMALL);
    return 0;
}

static int make_usual_trace(void **state)
{
    (void)state;
    make_trace(MS_LIVE_SIZE);
    return 0;
}

static int free_trace(void **state)
{
    (void)state;
    free(trace.file.bytes);
    trace.file.bytes = NULL;
    return 0;
}

static void undamaged(void **state)
{
    (void)state;
    assert_false(trace.content.damaged);
    assert_int_equal(trace.content.count, 5);
    for (size_t i = 0; i < trace.content.count; i++)
        assert_int_equal(trace.content.buffers[i].count, COUNT);
    for (size_t i = 0; i < trace.blocks; i++)
        if (trace.id[i])
            assert_non_null(find(&trace.content, trace.id[i]));
}

// Whether every buffer that stands in a block which `broken` does not name was read as it was.
static void check_others(const struct content *content, const bool *broken, size_t at)
{
    for (size_t i = 0; i < trace.blocks; i++) {
        if (trace.id[i] == 0 || broken[i])
            continue;
        const struct buffer *was = find(&trace.content, trace.id[i]);
        const struct buffer *is = find(content, trace.id[i]);
        if (!is || is->count != was->count || is->hash != was->hash)
            fail_msg("damage at byte %zu: block %zu at %zu is lost", at, i, trace.begin[i]);
    }
}

// The byte to try after `at`.
static size_t next_try(size_t at)
{
    for (size_t i = 0; i < trace.blocks; i++)
        if (at >= trace.used[i] && at < trace.end[i])
            return at + STRIDE < trace.end[i] ? at + STRIDE : trace.end[i];
    bool in_header = at >= sizeof(struct ms_file_header) && at + STRIDE < MS_HEADER_SIZE;
    return at + (in_header ? STRIDE : 1);
}

// Of a live block that is cut, the slots that are wholly there are read: each of these events has
// one. A slot that is cut itself has its word 0, so it looks whole, but is not.
static void check_cut_live(const struct content *content, size_t cut)
{
    const uint64_t id = buffer_id(1, 1, 3);
    size_t at = 0;
    while (trace.id[at] != id)
        at++;
    if (cut < trace.begin[at] + sizeof(struct ms_live) || cut >= trace.end[at])
        return;
    size_t slots = (cut - trace.begin[at] - sizeof(struct ms_live)) / MS_SLOT_BYTES;
    assert_non_null(find(content, id));
    assert_int_equal(find(content, id)->count, slots < COUNT ? slots : COUNT);
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < trace.file.size; cut = next_try(cut)) {
        // A buffer of the exact size: reading beyond it is seen by the address sanitizer.
        uint8_t *bytes = build_alloc(cut + !cut);
        struct content content;
        bool broken[BLOCKS];
        memcpy(bytes, trace.file.bytes, cut);
        enum ms_err error = read_trace(bytes, cut, &content);
        free(bytes);
        assert_int_equal(error != MS_OK, cut < MS_HEADER_SIZE);
        if (error)
            continue;
        // What is missing may be the padding of the last block.
        if (ms_align_up(cut, MS_BLOCK_ALIGN) < trace.file.size)
            assert_true(content.truncated);
        for (size_t i = 0; i < trace.blocks; i++)
            broken[i] = trace.end[i] > cut;
        check_others(&content, broken, cut);
        check_cut_live(&content, cut);
    }
}

static void change(uint8_t *bytes, size_t at, uint8_t mask)
{
    struct content content;
    bool broken[BLOCKS];
    bytes[at] ^= mask;
    enum ms_err error = read_trace(bytes, trace.file.size, &content);
    bytes[at] ^= mask;
    if (at < sizeof(uint64_t)) {
        assert_int_equal(error, MS_ERR_MAGIC);
        return;
    }
    assert_int_equal(error, MS_OK);
    for (size_t i = 0; i < trace.blocks; i++)
        broken[i] = at >= trace.begin[i] && at < trace.end[i];
    check_others(&content, broken, at);
}

static void change_bytes(size_t from, size_t to)
{
    uint8_t *bytes = build_alloc(trace.file.size);
    memcpy(bytes, trace.file.bytes, trace.file.size);
    for (size_t at = from; at < to; at = next_try(at)) {
        change(bytes, at, (uint8_t)(1u << at % 8));
        if (at % 3 == 0)
            change(bytes, at, 0xff);
    }
    free(bytes);
}

static void every_byte_changed(void **state)
{
    (void)state;
    change_bytes(MS_HEADER_SIZE, trace.file.size);
}

static void every_byte_of_the_header_changed(void **state)
{
    (void)state;
    change_bytes(0, MS_HEADER_SIZE);
}

// Whole 64-byte pieces lost to zeros, as by a hole in a copied file.
static void every_piece_zeroed(void **state)
{
    (void)state;
    uint8_t *bytes = build_alloc(trace.file.size);
    for (size_t at = MS_HEADER_SIZE; at < trace.file.size;
            at = (size_t)ms_align_up(next_try(at), MS_BLOCK_ALIGN)) {
        struct content content;
        bool broken[BLOCKS];
        memcpy(bytes, trace.file.bytes, trace.file.size);
        memset(bytes + at, 0, MS_BLOCK_ALIGN);
        assert_int_equal(read_trace(bytes, trace.file.size, &content), MS_OK);
        for (size_t i = 0; i < trace.blocks; i++)
            broken[i] = at < trace.end[i] && at + MS_BLOCK_ALIGN > trace.begin[i];
        check_others(&content, broken, at);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(undamaged, make_usual_trace, free_trace),
            cmocka_unit_test_setup_teardown(cut_at_every_byte, make_small_trace, free_trace),
            cmocka_unit_test_setup_teardown(every_byte_changed, make_small_trace, free_trace),
            cmocka_unit_test_setup_teardown(every_piece_zeroed, make_small_trace, free_trace),
            cmocka_unit_test_setup_teardown(
                    every_byte_of_the_header_changed, make_usual_trace, free_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
