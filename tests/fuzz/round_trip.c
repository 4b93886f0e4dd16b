// SPDX-License-Identifier: MIT
// Owns the encode and decode that several targets end with.
#include "fuzz.h"

#include "../unit/build.h"

static void round_trip(
        const struct ms_event *events, size_t count, uint64_t base, enum build_runs runs)
{
    static const struct ms_counters counters;
    static struct ms_signature signatures[MS_LIVE_SLOTS];
    uint8_t *raw;
    size_t size = build_columns(&raw, events, count, base, &counters, runs);
    struct ms_cursor in = {raw, raw + size, false};
    struct ms_decoder x;
    MUST(ms_columns_open(&x, &in, signatures, MS_LIVE_SLOTS) == count);
    for (size_t i = 0; i < count; i++) {
        struct ms_event e;
        MUST(ms_columns_get(&x, &e));
        MUST(events_same(&e, &events[i]));
    }
    MUST(!ms_decoder_bad(&x) && x.run_left == 0);
    free(raw);
}

void fuzz_columns_round_trip(const struct ms_event *events, size_t count, uint64_t base)
{
    round_trip(events, count, base, BUILD_PLAIN);
    round_trip(events, count, base, BUILD_RUNS);
}
