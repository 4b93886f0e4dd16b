// SPDX-License-Identifier: MIT
// From a block of the file to its events: decompression, columns and slots. The only user of zstd.
// Everything here treats its input as hostile: sizes are bounded before memory is taken.
#ifndef MEMSPY_ANALYZER_UNPACK_H
#define MEMSPY_ANALYZER_UNPACK_H

#include <memspy/columns.h>
#include <memspy/counters.h>
#include <memspy/format.h>

#include "source.h"

// The most that a payload may unpack to; FORMAT.md section 4 lets readers refuse more.
#define MS_RAW_MAX (16u << 20)

// The most events of a block: a live block has one slot an event and at most 1 MiB.
#define MS_EVENTS_MAX 32768u

// Bytes that grow. `bytes` is freed with ms_buffer_free.
struct ms_buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

void ms_buffer_free(struct ms_buffer *buffer);

// A cursor over the buffer's bytes.
struct ms_cursor ms_buffer_cursor(const struct ms_buffer *buffer);

// A decompressor with its scratch memory: one a reader.
struct ms_unpack {
    struct ZSTD_DCtx_s *zstd;
    struct ms_buffer stored;
};

void ms_unpack_open(struct ms_unpack *unpack);
void ms_unpack_close(struct ms_unpack *unpack);

// Unpacks the payload of a block that is not a live one, whose header stands at `offset`.
// Returns false when it cannot be read, is not a whole frame, fails its checksum or has another
// size than the header says.
bool ms_unpack_payload(struct ms_unpack *unpack, const struct ms_source *source, uint64_t offset,
        const struct ms_block *block, struct ms_buffer *raw);

// The events of one block, read one after the other. Zero-initialise; free with ms_batch_free; may
// be opened again for another block.
struct ms_batch {
    struct ms_buffer raw;            // unpacked payload, or copy of the live block
    struct ms_signature *signatures; // dictionary of a sealed block
    size_t signatures_capacity;
    struct ms_decoder decoder;  // sealed
    struct ms_cursor counters;  // sealed: where the counters begin
    const struct ms_live *live; // into raw; NULL for a sealed block
    size_t slot;                // live: the next slot
    size_t slots;               // live: slots up to the last used one
    uint64_t left;              // sealed: events not yet read
    uint64_t time;              // of the last event read, in time units
    uint64_t base;              // when the buffer began, in time units
    uint64_t holes;             // live: events that were begun and not finished, met so far
    uint64_t lost;              // sealed and malformed: events that could not be read
    bool bad;                   // malformed: the events after the last one read are lost
};

// Opens the sealed or live block at `offset`. `live_size` is the size of a live block in this
// trace; one that is cut short is read as far as it goes. Returns false when it is malformed.
bool ms_batch_open(struct ms_batch *batch, struct ms_unpack *unpack, const struct ms_source *source,
        uint64_t offset, uint32_t live_size);

// Reads the next event. Returns false at the end; batch->bad then tells whether the block, its
// counters included, is malformed.
bool ms_batch_next(struct ms_batch *batch, struct ms_event *event);

// Reads the thread's counters of a sealed block into *counters, whatever it held before. Returns
// false when they are malformed.
bool ms_batch_counters(const struct ms_batch *batch, struct ms_counters *counters);

void ms_batch_free(struct ms_batch *batch);

#endif
