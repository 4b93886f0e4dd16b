// SPDX-License-Identifier: MIT
// The payload of a sealed block, decompressed: columns, then counters. What decodes without a
// complaint must encode and decode to the same again.
#include "fuzz.h"

#include <memspy/columns.h>
#include <memspy/counters.h>
#include <memspy/format.h>

// Encodes and decodes; what a histogram has outside of its row's least and greatest cost is lost.
static void counters_again(const struct ms_counters *c, struct ms_counters *back)
{
    static uint8_t raw[MS_COUNTERS_MAX];
    struct ms_writer w = {raw, raw + sizeof raw, false};
    ms_counters_encode(&w, c);
    MUST(!w.full);
    struct ms_cursor in = {raw, w.at, false};
    memset(back, 0, sizeof *back);
    ms_counters_decode(&in, back);
    MUST(!in.bad && in.at == in.end);
}

static void counters(struct ms_cursor *in)
{
    static struct ms_counters c, back, again, sum;
    struct ms_cursor section = ms_get_section(in, ms_get_varint(in));
    memset(&c, 0, sizeof c);
    ms_counters_decode(&section, &c);
    memset(&sum, 0, sizeof sum);
    ms_counters_merge(&sum, &c);
    if (section.bad)
        return;
    counters_again(&c, &back);
    counters_again(&back, &again);
    MUST(memcmp(&back, &again, sizeof back) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_signature signatures[MS_LIVE_SLOTS];
    static struct ms_event events[MS_LIVE_SLOTS];
    struct ms_cursor in = {data, data + size, false};
    struct ms_decoder x;
    uint64_t count = ms_columns_open(&x, &in, signatures, MS_LIVE_SLOTS), done = 0;
    uint64_t base = x.model.start;
    MUST(count <= MS_LIVE_SLOTS);
    while (done < count && ms_columns_get(&x, &events[done]))
        done++;
    if (!in.bad && done == count && !ms_decoder_bad(&x) && x.run_left == 0)
        fuzz_columns_round_trip(events, count, base);
    counters(&in);
    return 0;
}
