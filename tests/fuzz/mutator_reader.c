// SPDX-License-Identifier: MIT
// Mutates traces as traces: checksums and compression would stop nearly every change of bytes at
// the door. A file is taken apart into its blocks, payloads decompressed; one of them is changed,
// and the file is put together with sizes, frames and CRCs that are right (or, at times, not).
//
//     file -> header page | piece | piece ...      piece = block header, content
#include "fuzz.h"

#include <memspy/format.h>
#include <memspy/wire.h>
#include <zstd.h>

#define PIECES   64
#define CONTENT  (1u << 16)
#define HEADER   sizeof(struct ms_file_header)
#define CRC_SIZE offsetof(struct ms_file_header, crc)

struct piece {
    struct ms_block block;
    uint8_t *content; // decompressed if it is a frame
    size_t size;
    bool is_frame;   // neither live nor stored as it is
    bool keep_sizes; // as they are in `block`, right or wrong
};

struct file {
    uint8_t header[MS_HEADER_SIZE];
    struct piece pieces[PIECES];
    size_t count;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// The piece at `data`, a whole block of which `left` bytes remain. Returns its size, 0 for none.
static size_t piece_read(struct piece *piece, const uint8_t *data, size_t left)
{
    struct ms_block *block = &piece->block;
    memcpy(block, data, sizeof *block);
    if (block->magic != MS_BLOCK_MAGIC || block->stored_size > left - sizeof *block)
        return 0;
    const uint8_t *stored = data + sizeof *block;
    size_t size = block->stored_size, raw;
    piece->content = malloc(CONTENT);
    MUST(piece->content != NULL);
    piece->keep_sizes = false;
    raw = ZSTD_decompress(piece->content, CONTENT, stored, size);
    piece->is_frame =
            block->type != MS_BLOCK_LIVE && !(block->flags & MS_BLOCK_RAW) && !ZSTD_isError(raw);
    piece->size = piece->is_frame ? raw : size < CONTENT ? size : CONTENT;
    if (!piece->is_frame && size)
        memcpy(piece->content, stored, piece->size);
    return (size_t)ms_align_up(sizeof *block + size, MS_BLOCK_ALIGN);
}

static void file_read(struct file *file, const uint8_t *data, size_t size)
{
    memcpy(file->header, data, MS_HEADER_SIZE);
    file->count = 0;
    for (size_t at = MS_HEADER_SIZE;
            at + sizeof(struct ms_block) <= size && file->count < PIECES;) {
        size_t taken = piece_read(&file->pieces[file->count], data + at, size - at);
        file->count += taken != 0;
        at += taken ? taken : MS_BLOCK_ALIGN;
    }
}

static void file_free(struct file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->pieces[i].content);
}

static void header_change(struct file *file)
{
    // Behind magic and version: what a reader looks at only if these are right.
    const size_t from = offsetof(struct ms_file_header, header_size);
    LLVMFuzzerMutate(file->header + from, HEADER - from, HEADER - from);
}

static void piece_change(struct piece *piece, uint32_t *random)
{
    const size_t from = offsetof(struct ms_block, process);
    const size_t size = offsetof(struct ms_block, payload_crc) - from;
    switch (next_random(random) % 8) {
    case 0:
        LLVMFuzzerMutate((uint8_t *)&piece->block + from, size, size);
        break;
    case 1:
        LLVMFuzzerMutate((uint8_t *)&piece->block + from, size, size);
        piece->keep_sizes = true;
        break;
    case 2:
        piece->block.type = (uint8_t)(next_random(random) % 8);
        break;
    default:
        piece->size = LLVMFuzzerMutate(piece->content, piece->size,
                piece->block.type == MS_BLOCK_LIVE ? piece->size : CONTENT);
        break;
    }
}

// A copy of one piece, with a buffer number near its own, goes to the end.
static void piece_copy(struct file *file, size_t from, uint32_t *random)
{
    if (file->count == PIECES)
        return;
    struct piece *to = &file->pieces[file->count++];
    *to = file->pieces[from];
    to->content = malloc(CONTENT);
    MUST(to->content != NULL);
    memcpy(to->content, file->pieces[from].content, to->size);
    if (to->block.type == MS_BLOCK_EVENTS)
        to->block.sequence += next_random(random) % 3;
    if (next_random(random) % 4 == 0)
        to->block.thread++;
}

static void file_change(struct file *file, uint32_t *random)
{
    size_t at = file->count ? next_random(random) % file->count : 0;
    unsigned what = next_random(random) % 16;
    struct piece swapped = file->pieces[at];
    if (file->count == 0 || what == 0) {
        header_change(file);
    } else if (what == 1) {
        free(swapped.content);
        file->pieces[at] = file->pieces[--file->count];
    } else if (what == 2) {
        size_t other = next_random(random) % file->count;
        file->pieces[at] = file->pieces[other];
        file->pieces[other] = swapped;
    } else if (what == 3) {
        piece_copy(file, at, random);
    } else {
        piece_change(&file->pieces[at], random);
    }
}

// Writes the piece into [to, to + room). Returns its size, 0 if it does not fit.
static size_t piece_write(struct piece *piece, uint8_t *to, size_t room)
{
    static uint8_t frame[ZSTD_COMPRESSBOUND(CONTENT)];
    static ZSTD_CCtx *context;
    const uint8_t *stored = piece->content;
    size_t size = piece->size;
    struct ms_block *block = &piece->block;
    if (context == NULL)
        context = ZSTD_createCCtx();
    if (piece->is_frame) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        size = ZSTD_compress2(context, frame, sizeof frame, piece->content, piece->size);
        stored = frame;
    }
    size_t whole = (size_t)ms_align_up(sizeof *block + size, MS_BLOCK_ALIGN);
    if (whole > room)
        return 0;
    if (!piece->keep_sizes) {
        block->stored_size = (uint32_t)size;
        block->raw_size = piece->block.type == MS_BLOCK_LIVE ? 0 : (uint32_t)piece->size;
        block->payload_crc = block->flags & MS_BLOCK_RAW ? ms_crc32(stored, size) : 0;
    }
    block->crc = ms_crc32(block, offsetof(struct ms_block, crc));
    memset(to, 0, whole);
    memcpy(to, block, sizeof *block);
    if (size)
        memcpy(to + sizeof *block, stored, size);
    return whole;
}

static size_t file_write(struct file *file, uint8_t *to, size_t room)
{
    uint32_t crc = ms_crc32(file->header, CRC_SIZE);
    memcpy(file->header + CRC_SIZE, &crc, sizeof crc);
    memcpy(to, file->header, MS_HEADER_SIZE);
    size_t at = MS_HEADER_SIZE;
    for (size_t i = 0; i < file->count; i++)
        at += piece_write(&file->pieces[i], to + at, room - at);
    return at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static struct file file;
    uint32_t random = seed;
    if (size < MS_HEADER_SIZE || max_size < MS_HEADER_SIZE || next_random(&random) % 16 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    file_read(&file, data, size);
    file_change(&file, &random);
    size_t written = file_write(&file, data, max_size);
    file_free(&file);
    return written;
}
