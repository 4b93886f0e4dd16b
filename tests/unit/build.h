// SPDX-License-Identifier: MIT
// Builds small traces in memory with the encoders of include/memspy, for tests that need a file
// whose every byte is known. Not the shim's code: a second writer of the same format.
// Out of memory ends the test.
#ifndef MEMSPY_TESTS_BUILD_H
#define MEMSPY_TESTS_BUILD_H

#include <memspy/columns.h>
#include <memspy/counters.h>
#include <memspy/format.h>
#include <memspy/spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "events.h"

// A file that grows. `live_size` is that of the live blocks to come.
struct build {
    uint8_t *bytes;
    size_t size;
    size_t room;
    uint32_t live_size;
    uint64_t ticks; // the clock: a tick is a nanosecond, each block is written 1000 later
};

// Where a block stands and what it is of.
struct build_block {
    uint8_t type;
    uint32_t process;
    uint32_t thread;
    uint64_t sequence;
    uint32_t events;
};

static inline void *build_alloc(size_t size)
{
    void *bytes = calloc(1, size);
    if (bytes == NULL)
        abort();
    return bytes;
}

// Room for `size` zero bytes at the end of the file, at a multiple of align.
static inline uint8_t *build_take(struct build *b, size_t size, size_t align)
{
    size_t at = (size_t)ms_align_up(b->size, align);
    size_t end = (size_t)ms_align_up(at + size, MS_BLOCK_ALIGN);
    if (end > b->room) {
        size_t room = end * 2;
        uint8_t *bytes = build_alloc(room);
        if (b->size)
            memcpy(bytes, b->bytes, b->size);
        free(b->bytes);
        b->bytes = bytes;
        b->room = room;
    }
    b->size = end;
    return b->bytes + at;
}

static inline void build_seal_header(struct ms_file_header *header)
{
    header->crc = ms_crc32(header, offsetof(struct ms_file_header, crc));
}

// Begins a file: header_size bytes of header. live_size is a multiple of MS_BLOCK_ALIGN.
static inline void build_begin(struct build *b, uint32_t header_size, uint32_t live_size)
{
    memset(b, 0, sizeof *b);
    struct ms_file_header header = {.magic = MS_FILE_MAGIC,
            .major = MS_FORMAT_MAJOR,
            .minor = MS_FORMAT_MINOR,
            .header_size = header_size,
            .session = "0123456789abcde",
            .live_align = live_size < 4096 ? live_size : 4096,
            .live_size = live_size,
            .clock = MS_CLOCK_MONOTONIC,
            .start_ticks = 1000000,
            .start_mono_ns = 1000000,
            .start_real_ns = UINT64_C(1700000000000000000),
            .process_next = 1,
            .thread_next = 1};
    build_seal_header(&header);
    memcpy(build_take(b, header_size, MS_BLOCK_ALIGN), &header, sizeof header);
    b->live_size = live_size;
    b->ticks = 1000000;
}

// Ends the file: the header learns how much space is taken.
static inline void build_end(struct build *b)
{
    struct ms_file_header *header = (struct ms_file_header *)(void *)b->bytes;
    header->space_next = b->size;
    header->process_next = 3;
    header->thread_next = 9;
}

static inline struct ms_block build_block_header(
        struct build *b, const struct build_block *k, size_t stored, size_t raw)
{
    b->ticks += 1000;
    struct ms_block block = {.magic = MS_BLOCK_MAGIC,
            .type = k->type,
            .header_size = sizeof(struct ms_block),
            .process = k->process,
            .thread = k->thread,
            .sequence = k->sequence,
            .stored_size = (uint32_t)stored,
            .raw_size = (uint32_t)raw,
            .events = k->events,
            .ticks = b->ticks,
            .mono_ns = b->ticks};
    block.crc = ms_crc32(&block, offsetof(struct ms_block, crc));
    return block;
}

// Compresses as every payload is: one frame with its content size and checksum.
static inline size_t build_compress(uint8_t *out, size_t room, const uint8_t *raw, size_t size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL)
        abort();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t stored = ZSTD_compress2(context, out, room, raw, size);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(stored))
        abort();
    return stored;
}

// Appends a compressed block; returns its offset in the file.
static inline size_t build_put(
        struct build *b, const struct build_block *k, const uint8_t *raw, size_t size)
{
    size_t room = ZSTD_compressBound(size);
    uint8_t *stored = build_alloc(room);
    size_t length = build_compress(stored, room, raw, size);
    struct ms_block block = build_block_header(b, k, length, size);
    uint8_t *at = build_take(b, sizeof block + length, MS_BLOCK_ALIGN);
    memcpy(at, &block, sizeof block);
    memcpy(at + sizeof block, stored, length);
    free(stored);
    return (size_t)(at - b->bytes);
}

// Appends a block that is not compressed; returns its offset in the file.
static inline size_t build_put_raw(
        struct build *b, const struct build_block *k, const uint8_t *raw, size_t size)
{
    struct ms_block block = build_block_header(b, k, size, size);
    block.flags = MS_BLOCK_RAW;
    block.payload_crc = ms_crc32(raw, size);
    block.crc = ms_crc32(&block, offsetof(struct ms_block, crc));
    uint8_t *at = build_take(b, sizeof block + size, MS_BLOCK_ALIGN);
    memcpy(at, &block, sizeof block);
    memcpy(at + sizeof block, raw, size);
    return (size_t)(at - b->bytes);
}

// How many events from `at` on repeat those `period` before them.
static inline uint32_t build_repeated(
        const struct ms_event *events, size_t at, size_t count, unsigned period)
{
    uint32_t length = 0;
    while (at >= period && at + length < count &&
            events_same(&events[at + length], &events[at + length - period]))
        length++;
    return length;
}

// Whether runs are written where there are any.
enum build_runs { BUILD_PLAIN, BUILD_RUNS };

static inline void build_encode(struct ms_encoder *encoder, const struct ms_event *events,
        size_t count, enum build_runs runs)
{
    for (size_t at = 0; at < count;) {
        uint32_t two = runs ? build_repeated(events, at, count, 2) : 0;
        uint32_t four = runs ? build_repeated(events, at, count, 4) : 0;
        if (two || four) {
            ms_columns_put_run(encoder, two >= four ? 2 : 4, two >= four ? two : four);
            at += two >= four ? two : four;
        } else {
            ms_columns_put(encoder, &events[at++]);
        }
    }
}

// The raw payload of an EVENTS block. Returns its size; *out is the caller's to free.
static inline size_t build_columns(uint8_t **out, const struct ms_event *events, size_t count,
        uint64_t base, const struct ms_counters *counters, enum build_runs runs)
{
    static struct ms_encoder encoder;
    size_t wide_room = count * MS_WIDE_EVENT + MS_VARINT_MAX;
    size_t dictionary_room = count * MS_SIGNATURE_EVENT + MS_VARINT_MAX;
    size_t numbers_room = MS_NUMBER_COLUMNS * (MS_VARINT_MAX + 1 + count * sizeof(uint32_t));
    size_t room = wide_room + dictionary_room + numbers_room + 8 * MS_VARINT_MAX + MS_COUNTERS_MAX;
    uint8_t *wide = build_alloc(wide_room), *dictionary = build_alloc(dictionary_room);
    if (count > MS_ENCODER_EVENTS)
        abort();
    ms_encoder_reset(&encoder, base);
    encoder.wide = (struct ms_writer){wide, wide + wide_room, false};
    encoder.dictionary = (struct ms_writer){dictionary, dictionary + dictionary_room, false};
    build_encode(&encoder, events, count, runs);

    uint8_t *totals = build_alloc(MS_COUNTERS_MAX);
    struct ms_writer t = {totals, totals + MS_COUNTERS_MAX, false};
    ms_counters_encode(&t, counters);
    *out = build_alloc(room);
    struct ms_writer w = {*out, *out + room, false};
    ms_columns_finish(&encoder, wide, dictionary, base, &w);
    ms_put_varint(&w, (uint64_t)(t.at - totals));
    ms_put_bytes(&w, totals, (size_t)(t.at - totals));
    if (w.full || t.full)
        abort();
    free(totals);
    free(dictionary);
    free(wide);
    return (size_t)(w.at - *out);
}

// Appends a sealed block and adds its events to the thread's counters.
static inline size_t build_events(struct build *b, struct build_block k,
        const struct ms_event *events, size_t count, struct ms_counters *counters)
{
    for (size_t i = 0; i < count; i++)
        ms_counters_add(counters, &events[i], 0, 1);
    uint8_t *raw;
    size_t size = build_columns(&raw, events, count, b->ticks, counters, BUILD_RUNS);
    k.type = MS_BLOCK_EVENTS;
    k.events = (uint32_t)count;
    size_t at = build_put(b, &k, raw, size);
    free(raw);
    return at;
}

// Appends a live block that holds the events; a process of 0 makes it a free one.
static inline size_t build_live(struct build *b, struct build_block k,
        const struct ms_event *events, size_t count, const struct ms_counters *counters)
{
    struct build_block none = {.type = MS_BLOCK_LIVE};
    size_t align = b->live_size < 4096 ? b->live_size : 4096;
    uint8_t *at = build_take(b, b->live_size, align);
    struct ms_live live = {.owner = (uint64_t)k.process << 32 | k.thread,
            .sequence = k.sequence,
            .base = b->ticks,
            .tid = 100 + k.thread};
    live.block = build_block_header(b, &none, b->live_size - sizeof(struct ms_block), 0);
    if (counters)
        memcpy(live.tally, counters->tally, sizeof live.tally);
    memcpy(at, &live, sizeof live);
    uint64_t *slot = (uint64_t *)(void *)(at + sizeof live);
    for (size_t i = 0; i < count; i++) {
        ms_slot_store(slot, &events[i], live.base);
        slot += MS_SLOT_WORDS * (ms_slot_needs_ext(&events[i]) ? 2 : 1);
    }
    return (size_t)(at - b->bytes);
}

static inline void build_number(struct ms_writer *w, uint8_t tag, uint64_t value)
{
    uint8_t bytes[MS_VARINT_MAX];
    struct ms_writer v = {bytes, bytes + sizeof bytes, false};
    ms_put_varint(&v, value);
    ms_put_u8(w, tag);
    ms_put_varint(w, (uint64_t)(v.at - bytes));
    ms_put_bytes(w, bytes, (size_t)(v.at - bytes));
}

static inline void build_text(struct ms_writer *w, uint8_t tag, const char *text, size_t size)
{
    ms_put_u8(w, tag);
    ms_put_varint(w, size);
    ms_put_bytes(w, text, size);
}

// Appends the PROCESS block of the process with that index; parent 0 makes it the initial one.
static inline size_t build_process(struct build *b, uint32_t process, uint32_t parent)
{
    uint8_t raw[1024];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    build_number(&w, MS_PROCESS_PID, 4000 + process);
    build_number(&w, MS_PROCESS_PPID, parent ? 4000 + parent : 1);
    build_number(&w, MS_PROCESS_PARENT, parent);
    build_number(&w, MS_PROCESS_ORIGIN, parent ? MS_ORIGIN_FORK : MS_ORIGIN_INITIAL);
    build_number(&w, MS_PROCESS_START_TICKS, b->ticks);
    build_text(&w, MS_PROCESS_EXE, "/usr/bin/example", 16);
    build_text(&w, MS_PROCESS_ARGV, "example\0--flag", 15);
    build_text(&w, MS_PROCESS_HOST, "host", 4);
    build_text(&w, MS_PROCESS_KERNEL, "6.1.0", 5);
    build_text(&w, MS_PROCESS_LIBC, "glibc 2.36", 10);
    build_text(&w, MS_PROCESS_ALLOCATOR, "/lib/libc.so.6", 14);
    build_number(&w, MS_PROCESS_FLAGS, MS_PROCESS_GLIBC | MS_PROCESS_TCACHE | MS_PROCESS_HEAPS);
    build_number(&w, MS_PROCESS_FLOOR_TICKS, 20);
    build_number(&w, MS_PROCESS_TIMING_LOG2, 0);
    build_number(&w, MS_PROCESS_EVENT_TICKS_256, 4096);
    build_number(&w, MS_PROCESS_TIMED_TICKS_256, 9000);
    build_number(&w, MS_PROCESS_PAGE_SIZE, 4096);
    build_text(&w, MS_PROCESS_MACHINE, "x86_64", 6);
    struct build_block k = {.type = MS_BLOCK_PROCESS, .process = process};
    return build_put(b, &k, raw, (size_t)(w.at - raw));
}

// The facts of a PROCESS block that tell where a process comes from; those that are 0 are left out.
struct build_image {
    uint32_t index;
    uint32_t parent;
    uint32_t ancestor;
    uint64_t pid;
    uint64_t ppid;
    uint64_t start;
    uint64_t flags;
    uint64_t made;       // start of the call that made it
    const char *command; // it is sh -c COMMAND
};

// Appends a short PROCESS block: origin fork with a parent, exec with an ancestor, else initial.
static inline size_t build_image(struct build *b, struct build_image image)
{
    uint8_t raw[128];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    const uint64_t origin = image.parent     ? MS_ORIGIN_FORK
                            : image.ancestor ? MS_ORIGIN_EXEC
                                             : MS_ORIGIN_INITIAL;
    const uint64_t numbers[][2] = {{MS_PROCESS_PID, image.pid}, {MS_PROCESS_PPID, image.ppid},
            {MS_PROCESS_PARENT, image.parent}, {MS_PROCESS_ORIGIN, origin},
            {MS_PROCESS_START_TICKS, image.start}, {MS_PROCESS_FLAGS, image.flags},
            {MS_PROCESS_ANCESTOR, image.ancestor}, {MS_PROCESS_MADE, image.made}};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i][1])
            build_number(&w, (uint8_t)numbers[i][0], numbers[i][1]);
    if (image.command) {
        char argv[64];
        int size = snprintf(argv, sizeof argv, "sh%c-c%c%s", 0, 0, image.command);
        build_text(&w, MS_PROCESS_ARGV, argv, (size_t)size + 1);
    }
    return build_put_raw(b, &(struct build_block){.type = MS_BLOCK_PROCESS, .process = image.index},
            raw, (size_t)(w.at - raw));
}

// A property of a SPAWN block: a number, or a text if there is one.
struct build_property {
    uint8_t tag;
    uint64_t number;
    const char *text;
};

// Appends a SPAWN block of `process`; properties end with a tag of 0.
static inline size_t build_spawn(
        struct build *b, uint32_t process, uint64_t kind, const struct build_property *properties)
{
    uint8_t raw[2048];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    build_number(&w, MS_SPAWN_P_KIND, kind);
    for (const struct build_property *p = properties; p->tag; p++) {
        if (p->text)
            build_text(&w, p->tag, p->text, strlen(p->text) + 1);
        else
            build_number(&w, p->tag, p->number);
    }
    return build_put_raw(b, &(struct build_block){.type = MS_BLOCK_SPAWN, .process = process}, raw,
            (size_t)(w.at - raw));
}

static inline size_t build_modules(struct build *b, uint32_t process)
{
    uint8_t raw[256];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    ms_put_varint(&w, 2);
    const char *paths[] = {"/usr/bin/example", "/lib/libc.so.6"};
    for (unsigned i = 0; i < 2; i++) {
        ms_put_varint(&w, i ? UINT64_C(0x100000) : UINT64_C(0x401000));
        ms_put_varint(&w, 0x2000);
        ms_put_varint(&w, 0x1000);
        ms_put_varint(&w, strlen(paths[i]));
        ms_put_bytes(&w, paths[i], strlen(paths[i]));
    }
    struct build_block k = {.type = MS_BLOCK_MODULES, .process = process};
    return build_put(b, &k, raw, (size_t)(w.at - raw));
}

// Appends an END block; `pid` is that of a vfork child, 0: the process' own end.
static inline size_t build_ending(
        struct build *b, uint32_t process, uint64_t how, uint64_t status, uint64_t pid)
{
    uint8_t raw[64];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    build_number(&w, MS_END_HOW, how);
    build_number(&w, MS_END_STATUS, status);
    if (pid)
        build_number(&w, MS_END_PID, pid);
    return build_put_raw(b, &(struct build_block){.type = MS_BLOCK_END, .process = process}, raw,
            (size_t)(w.at - raw));
}

static inline size_t build_end_block(struct build *b, uint32_t process, uint32_t thread)
{
    uint8_t raw[64];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    build_number(&w, MS_END_HOW, MS_END_EXIT);
    build_number(&w, MS_END_STATUS, 0);
    struct build_block k = {.type = MS_BLOCK_END, .process = process, .thread = thread};
    return build_put(b, &k, raw, (size_t)(w.at - raw));
}

#endif
