// SPDX-License-Identifier: MIT
// The slots of a live block. Every event that loads must store and load the same again, and all
// of them together must survive being sealed; so must the slots, by the shim's own encoder.
#include "fuzz.h"

#include <memspy/format.h>
#include <ring.h>

#define BASE  UINT64_C(1000000)
#define FLOOR 20

// Takes from an event what no writer would store: fields that its kind does not have.
static void normalise(struct ms_event *e)
{
    unsigned fields = ms_kind_fields(e->kind);
    e->size = fields & MS_F_SIZE ? e->size : 0;
    e->usable = fields & MS_F_USABLE ? e->usable : 0;
    // Without a size, usable has 63 bits.
    e->usable = fields & MS_F_SIZE ? e->usable : e->usable & INT64_MAX;
    e->caller = fields & MS_F_CALLER ? e->caller : 0;
    e->aux = fields & MS_F_AUX ? e->aux : 0;
    e->align_log2 = fields & MS_F_ALIGN ? e->align_log2 & 63 : 0;
    e->weight_log2 = e->attr & MS_ATTR_TIMED ? e->weight_log2 & 15 : 0;
}

static void check_slot(const struct ms_event *e)
{
    uint64_t slots[2 * MS_SLOT_WORDS] = {0};
    struct ms_event back = {0};
    ms_slot_store(slots, e, BASE);
    MUST(ms_slot_load(slots, 2, BASE, &back) == (ms_slot_needs_ext(e) ? 2 : 1));
    MUST(events_same(e, &back));
}

// What the shim makes of slots that its own hooks have filled.
static void check_ring(const struct ms_event *events, size_t count)
{
    static uint64_t slots[MS_LIVE_SLOTS * MS_SLOT_WORDS];
    static uint8_t wide[MS_LIVE_SLOTS * MS_WIDE_EVENT];
    static uint8_t dictionary[MS_LIVE_SLOTS * MS_SIGNATURE_EVENT + MS_VARINT_MAX];
    static uint8_t raw[4 * sizeof wide];
    static struct ms_encoder x;
    static struct ms_signature signatures[MS_LIVE_SLOTS];
    static struct ms_counters counters, expected;
    uint32_t used = 0;
    size_t stored = 0;
    memset(&counters, 0, sizeof counters);
    memset(&expected, 0, sizeof expected);
    for (; stored < count && used + 2 <= MS_LIVE_SLOTS; stored++) {
        ms_slot_store(slots + used * MS_SLOT_WORDS, &events[stored], BASE);
        used += ms_slot_needs_ext(&events[stored]) ? 2 : 1;
        ms_counters_add(&expected, &events[stored], FLOOR, 1);
    }
    ms_encoder_reset(&x, BASE);
    x.wide = (struct ms_writer){wide, wide + sizeof wide, false};
    x.dictionary = (struct ms_writer){dictionary, dictionary + sizeof dictionary, false};
    MUST(ms_ring_encode(slots, used, BASE, &x, &counters, FLOOR) == 0);
    MUST(x.events == stored && memcmp(&counters, &expected, sizeof expected) == 0);
    struct ms_writer out = {raw, raw + sizeof raw, false};
    ms_columns_finish(&x, wide, dictionary, BASE, &out);
    MUST(!out.full);
    struct ms_cursor in = {raw, out.at, false};
    struct ms_decoder d;
    MUST(ms_columns_open(&d, &in, signatures, MS_LIVE_SLOTS) == stored);
    for (size_t i = 0; i < stored; i++) {
        struct ms_event e;
        MUST(ms_columns_get(&d, &e) && events_same(&e, &events[i]));
    }
    MUST(!ms_decoder_bad(&d) && d.run_left == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_event events[MS_LIVE_SLOTS];
    size_t slots = size / MS_SLOT_BYTES, count = 0;
    if (slots > MS_LIVE_SLOTS)
        slots = MS_LIVE_SLOTS;
    // Of the exact size, so that a read beyond the last slot is seen.
    uint64_t *words = malloc(slots * MS_SLOT_BYTES + !slots);
    MUST(words != NULL);
    if (slots)
        memcpy(words, data, slots * MS_SLOT_BYTES);
    for (size_t at = 0; at < slots;) {
        struct ms_event *e = &events[count];
        unsigned taken = ms_slot_load(words + at * MS_SLOT_WORDS, slots - at, BASE, e);
        MUST(taken <= slots - at);
        at += taken ? taken : 1;
        if (taken == 0)
            continue;
        if (!(e->attr & MS_ATTR_TIMED))
            e->cost = 0;
        check_slot(e);
        if (ms_kind_fields(e->kind) == 0)
            continue;
        normalise(e);
        count++;
    }
    fuzz_columns_round_trip(events, count, BASE);
    check_ring(events, count);
    free(words);
    return 0;
}
