// SPDX-License-Identifier: MIT
// The columns of a sealed block in tests: encoded, decoded against a guard page, and looked into.
#ifndef MEMSPY_TESTS_PAYLOAD_H
#define MEMSPY_TESTS_PAYLOAD_H

#include "build.h"
#include "check.h"

#define BASE   UINT64_C(987654321)
#define EVENTS MS_LIVE_SLOTS

// Decodes a payload that lies against a guard page. Returns the number of events before the first
// sign of damage; *whole tells whether there was none.
static inline uint64_t decode(const uint8_t *raw, size_t size, struct ms_event *events, bool *whole)
{
    static struct ms_signature signatures[EVENTS];
    struct ms_cursor in = {raw, raw + size, false};
    struct ms_decoder x;
    uint64_t count = ms_columns_open(&x, &in, signatures, EVENTS), done = 0;
    assert_true(count <= EVENTS);
    while (done < count && ms_columns_get(&x, &events[done]) && !ms_decoder_bad(&x))
        done++;
    // A run that goes on behind the last event is as malformed as anything else.
    *whole = !in.bad && done == count && !ms_decoder_bad(&x) && x.run_left == 0;
    return done;
}

// Encodes as build_columns does, into a guarded buffer. Returns the payload's size.
static inline size_t encode(
        const struct ms_event *events, size_t count, enum build_runs runs, struct guard *g)
{
    static const struct ms_counters no_counters;
    uint8_t *raw;
    size_t size = build_columns(&raw, events, count, BASE, &no_counters, runs);
    *g = guard_make(size);
    memcpy(g->bytes, raw, size);
    free(raw);
    return size;
}

static inline void round_trip(const struct ms_event *events, size_t count, enum build_runs runs)
{
    static struct ms_event back[EVENTS];
    struct guard g;
    bool whole;
    size_t size = encode(events, count, runs, &g);
    assert_int_equal(decode(g.bytes, size, back, &whole), count);
    assert_true(whole);
    for (size_t i = 0; i < count; i++)
        assert_true(events_same(&events[i], &back[i]));
    guard_free(&g);
}

// The bytes of a column.
static inline uint64_t column_size(const uint8_t *raw, size_t size, unsigned column)
{
    struct ms_cursor in = {raw, raw + size, false};
    for (unsigned i = 0; i < 3; i++)
        ms_get_varint(&in); // events, base, columns
    for (unsigned i = 0; i < column; i++)
        ms_get_section(&in, ms_get_varint(&in));
    return ms_get_varint(&in);
}

// The numbers in a number column.
static inline uint64_t column_count(const uint8_t *raw, size_t size, unsigned column)
{
    static struct ms_signature signatures[EVENTS];
    struct ms_decoder x;
    struct ms_cursor in = {raw, raw + size, false};
    ms_columns_open(&x, &in, signatures, EVENTS);
    assert_false(in.bad);
    return x.numbers[column].count;
}

// Every cut of a payload, and every byte of it changed: decoding ends, inside of the buffer.
static inline void damage(const struct ms_event *events, size_t count, enum build_runs runs)
{
    static struct ms_event back[EVENTS];
    struct guard g, copy;
    bool whole;
    size_t size = encode(events, count, runs, &g);
    copy = guard_make(size);
    size_t columns_end = size - 1; // what follows the columns is not for this decoder
    while (columns_end > 0) {
        guard_cut(&copy, g.bytes, columns_end);
        if (decode(copy.bytes, columns_end, back, &whole) < count || !whole)
            break;
        columns_end--;
    }
    assert_true(columns_end > 0);
    for (size_t cut = columns_end; cut-- > 0;) {
        guard_cut(&copy, g.bytes, cut);
        decode(copy.bytes, cut, back, &whole);
        assert_false(whole);
    }
    guard_cut(&copy, g.bytes, size);
    for (size_t at = 0; at < size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            copy.bytes[at] = (uint8_t)(g.bytes[at] ^ 1u << bit);
            decode(copy.bytes, size, back, &whole);
        }
        copy.bytes[at] = 0xff;
        decode(copy.bytes, size, back, &whole);
        copy.bytes[at] = g.bytes[at];
    }
    guard_free(&g);
    guard_free(&copy);
}

#endif
