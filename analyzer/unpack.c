// SPDX-License-Identifier: MIT
// A batch is one block's events behind one interface, whichever way they are stored:
//
//     sealed:  file --pread--> stored --zstd--> raw = columns | counters   (columns.h, counters.h)
//              (or raw at once, when the block says so)
//     live:    file --pread--> raw = struct ms_live | slots                (event.h)
//
// A live block may be written to while it is read, so it is copied first; a slot's word 0 is stored
// last by its writer, which makes the copy consistent slot by slot.
// Invariant: no index or size from the file is used before it has been compared with a limit.
#include "unpack.h"

#include <stdlib.h>
#include <zstd.h>

#include "memory.h"

void ms_buffer_free(struct ms_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct ms_buffer){0};
}

struct ms_cursor ms_buffer_cursor(const struct ms_buffer *buffer)
{
    if (buffer->size == 0)
        return (struct ms_cursor){0};
    return (struct ms_cursor){buffer->bytes, buffer->bytes + buffer->size, false};
}

static void buffer_size(struct ms_buffer *buffer, size_t size)
{
    buffer->bytes = ms_memory_grow(buffer->bytes, size, &buffer->capacity, 1);
    buffer->size = size;
}

void ms_unpack_open(struct ms_unpack *unpack)
{
    *unpack = (struct ms_unpack){.zstd = ZSTD_createDCtx()};
    if (!unpack->zstd)
        ms_memory_failed();
}

void ms_unpack_close(struct ms_unpack *unpack)
{
    ZSTD_freeDCtx(unpack->zstd);
    ms_buffer_free(&unpack->stored);
}

// A payload that is not compressed has a checksum in the block's header.
static bool read_raw(const struct ms_source *source, uint64_t offset, const struct ms_block *block,
        struct ms_buffer *raw)
{
    if (block->raw_size != block->stored_size)
        return false;
    buffer_size(raw, block->stored_size);
    return ms_source_read(source, offset + block->header_size, raw->bytes, raw->size) &&
           ms_crc32(raw->bytes, raw->size) == block->payload_crc;
}

bool ms_unpack_payload(struct ms_unpack *unpack, const struct ms_source *source, uint64_t offset,
        const struct ms_block *block, struct ms_buffer *raw)
{
    if (block->raw_size > MS_RAW_MAX || block->stored_size > ZSTD_COMPRESSBOUND(MS_RAW_MAX))
        return false;
    if (block->flags & MS_BLOCK_RAW)
        return read_raw(source, offset, block, raw);
    buffer_size(&unpack->stored, block->stored_size);
    const uint8_t *stored = unpack->stored.bytes;
    if (!ms_source_read(
                source, offset + block->header_size, unpack->stored.bytes, block->stored_size) ||
            ZSTD_getFrameContentSize(stored, block->stored_size) != block->raw_size)
        return false;
    buffer_size(raw, block->raw_size);
    size_t size =
            ZSTD_decompressDCtx(unpack->zstd, raw->bytes, raw->size, stored, block->stored_size);
    return !ZSTD_isError(size) && size == block->raw_size;
}

// Whether no signature marks a field that its kind does not have (FORMAT.md 6.3).
static bool has_sound_marks(const struct ms_decoder *decoder)
{
    for (uint64_t i = 0; i < decoder->signature_count; i++) {
        unsigned fields = ms_kind_fields(decoder->signatures[i].kind);
        unsigned marks = decoder->signatures[i].marks;
        bool may_guess = (fields & MS_F_SIZE) && (fields & MS_F_USABLE);
        if (((marks & (MS_MARK_MODEL | MS_MARK_SAME)) && !(fields & MS_F_PTR)) ||
                ((marks & MS_MARK_GUESSED) && !may_guess) ||
                ((marks & MS_MARK_NO_AUX) && !(fields & MS_F_AUX)))
            return false;
    }
    return true;
}

static bool open_sealed(struct ms_batch *batch, const struct ms_block *block)
{
    if (block->events > MS_EVENTS_MAX)
        return false;
    batch->signatures = ms_memory_grow(batch->signatures, block->events + 1u,
            &batch->signatures_capacity, sizeof *batch->signatures);
    struct ms_cursor in = ms_buffer_cursor(&batch->raw);
    batch->left = ms_columns_open(&batch->decoder, &in, batch->signatures, block->events);
    batch->counters = ms_get_section(&in, ms_get_varint(&in));
    batch->time = batch->base = batch->decoder.model.start;
    return !in.bad && batch->left == block->events && has_sound_marks(&batch->decoder);
}

// The live block at `offset` with what the file lacks of it set to zero, which reads as unused.
static bool open_live(
        struct ms_batch *batch, const struct ms_source *source, uint64_t offset, uint32_t live_size)
{
    uint64_t there = source->size - offset;
    size_t size = there < live_size ? (size_t)there : live_size;
    if (size < sizeof(struct ms_live))
        return false;
    // A slot that is there in part is not there.
    size -= (size - sizeof(struct ms_live)) % MS_SLOT_BYTES;
    buffer_size(&batch->raw, live_size);
    memset(batch->raw.bytes + size, 0, live_size - size);
    if (!ms_source_read(source, offset, batch->raw.bytes, size))
        return false;
    batch->live = (const struct ms_live *)(const void *)batch->raw.bytes;
    batch->time = batch->base = batch->live->base;
    const uint64_t *words = (const uint64_t *)(const void *)(batch->live + 1);
    batch->slots = (live_size - sizeof(struct ms_live)) / MS_SLOT_BYTES;
    while (batch->slots && words[(batch->slots - 1) * MS_SLOT_WORDS] == 0)
        batch->slots--;
    return true;
}

bool ms_batch_open(struct ms_batch *batch, struct ms_unpack *unpack, const struct ms_source *source,
        uint64_t offset, uint32_t live_size)
{
    struct ms_block block;
    batch->live = NULL;
    batch->slot = batch->slots = 0;
    batch->left = batch->holes = batch->lost = 0;
    batch->bad = true;
    if (!ms_source_read(source, offset, &block, sizeof block))
        return false;
    if (block.type == MS_BLOCK_LIVE)
        batch->bad = !open_live(batch, source, offset, live_size);
    else if (ms_unpack_payload(unpack, source, offset, &block, &batch->raw))
        batch->bad = !open_sealed(batch, &block);
    if (batch->bad && block.type != MS_BLOCK_LIVE)
        batch->lost = block.events;
    return !batch->bad;
}

// Takes away what the event's kind does not have and what is out of range (FORMAT.md 10.8).
static void keep_fields(struct ms_event *event)
{
    unsigned fields = ms_kind_fields(event->kind);
    bool is_timed = event->attr & MS_ATTR_TIMED;
    if (!(fields & MS_F_SIZE))
        event->size = 0;
    if (!(fields & MS_F_USABLE))
        event->usable = 0;
    if (!(fields & MS_F_CALLER))
        event->caller = 0;
    if (!(fields & MS_F_AUX))
        event->aux = 0;
    if (!(fields & MS_F_ALIGN) || event->align_log2 > 63)
        event->align_log2 = 0;
    if (!is_timed)
        event->cost = event->weight_log2 = 0;
}

// A slot without an event that can be read counts as one lost event, but for the second half of an
// unfinished one, which its first half has counted.
static bool next_live(struct ms_batch *batch, struct ms_event *event)
{
    const uint64_t *words = (const uint64_t *)(const void *)(batch->live + 1);
    while (batch->slot < batch->slots) {
        const uint64_t *slot = words + batch->slot * MS_SLOT_WORDS;
        unsigned taken = ms_slot_load(slot, batch->slots - batch->slot, batch->base, event);
        batch->slot += taken ? taken : 1;
        if (taken && event->weight_log2 <= 15 && ms_kind_fields(event->kind)) {
            keep_fields(event);
            return true;
        }
        batch->holes += (slot[0] & 0xff) != MS_KIND_EXT;
    }
    return false;
}

// Apart, since its frame is large and needed once a block.
static __attribute__((noinline)) bool has_sound_counters(const struct ms_batch *batch)
{
    struct ms_counters counters;
    return ms_batch_counters(batch, &counters);
}

static bool next_sealed(struct ms_batch *batch, struct ms_event *event)
{
    struct ms_decoder *decoder = &batch->decoder;
    if (batch->left == 0) {
        // A run may not go on behind the last event.
        batch->bad |= decoder->run_left != 0 || !has_sound_counters(batch);
        return false;
    }
    batch->left--;
    if (MS_LIKELY(ms_columns_get(decoder, event) && !ms_decoder_bad(decoder)))
        return true;
    batch->bad = true;
    batch->lost = batch->left + 1;
    batch->left = 0;
    return false;
}

bool ms_batch_next(struct ms_batch *batch, struct ms_event *event)
{
    bool got = batch->live ? next_live(batch, event) : next_sealed(batch, event);
    if (got && (event->attr & MS_ATTR_TIMED))
        batch->time = event->start;
    return got;
}

bool ms_batch_counters(const struct ms_batch *batch, struct ms_counters *counters)
{
    struct ms_cursor in = batch->counters;
    memset(counters, 0, sizeof *counters);
    ms_counters_decode(&in, counters);
    return !in.bad;
}

void ms_batch_free(struct ms_batch *batch)
{
    ms_buffer_free(&batch->raw);
    free(batch->signatures);
    *batch = (struct ms_batch){0};
}
