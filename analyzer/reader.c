// SPDX-License-Identifier: MIT
// The scan. Blocks stand at multiples of 64 bytes, with gaps of zeros between them where a live
// block had to be aligned, or where a process was killed between taking space and writing to it:
//
//     | header 4096 | block | block | 0 0 0 | live block | block | 0 0 | block ...
//
// At each position there is a block header with a right checksum, or zeros, or damage. Damage is
// left by trying every following multiple of 64 bytes until a header checks again, so that no
// good block is lost to its neighbours. A payload that does not unpack or is malformed is damage of
// that block alone, its size being known. Events are not decoded by the scan but when they are
// asked for, or when there are two blocks of one buffer and only the sound one counts. What lies
// behind a block that the end of the file cuts off is searched too, but is no damage of its own.
#include "reader.h"

#include <stdlib.h>

#include "index.h"
#include "memory.h"

#define SCAN_CHUNK    65536u
#define LIVE_SIZE_MAX (1u << 20)

// The scan's state: a window of the file, and the damage met and not yet ended.
struct scan {
    struct ms_reader *reader;
    struct ms_buffer payload;
    uint64_t window; // offset of what `chunk` holds
    size_t filled;
    uint64_t damage;     // where the damage began
    uint64_t damage_end; // after its last byte that is not zero; 0 while there is none
    bool is_tail;        // behind a block that the end of the file cuts off
    _Alignas(8) uint8_t chunk[SCAN_CHUNK];
};

const char *ms_err_text(enum ms_err error)
{
    switch (error) {
    case MS_OK:
        return "no error";
    case MS_ERR_EMPTY:
        return "the file is empty: recording could not begin; look for memspy's line on stderr of "
               "the traced program";
    case MS_ERR_SHORT:
        return "shorter than the first page of a trace; copy it again";
    case MS_ERR_MAGIC:
        return "not a memspy trace; give the file that MEMSPY_OUT named";
    case MS_ERR_VERSION:
        return "written by a later version of memspy; read it with that version";
    case MS_ERR_FEATURES:
        return "uses features of a later version of memspy; read it with that version";
    case MS_ERR_READ:
        return "could not be read";
    }
    return "unknown error";
}

void ms_reader_damaged(struct ms_reader *reader, uint64_t offset, uint64_t size, const char *what)
{
    struct ms_damage *last =
            reader->damage_count ? &reader->damage[reader->damage_count - 1] : NULL;
    reader->damage_bytes += size;
    if (last && last->offset + last->size == offset && strcmp(last->what, what) == 0) {
        last->size += size;
        return;
    }
    reader->damage = ms_memory_grow(reader->damage, reader->damage_count + 1,
            &reader->damage_capacity, sizeof *reader->damage);
    reader->damage[reader->damage_count++] = (struct ms_damage){offset, size, what};
}

// The header's defaults stand in for a damaged one, whose atomics are kept: no checksum covers
// them.
static void header_repair(struct ms_reader *reader)
{
    struct ms_file_header *header = &reader->header;
    if (ms_crc32(header, offsetof(struct ms_file_header, crc)) == header->crc)
        return;
    ms_reader_damaged(reader, 0, offsetof(struct ms_file_header, pad0), "header of the file");
    header->header_size = MS_HEADER_SIZE;
    header->live_size = MS_LIVE_SIZE;
    header->incompatible = 0;
    header->major = MS_FORMAT_MAJOR;
}

static enum ms_err header_read(struct ms_reader *reader)
{
    struct ms_file_header *header = &reader->header;
    if (reader->source.size == 0)
        return MS_ERR_EMPTY;
    if (reader->source.size < sizeof header->magic)
        return MS_ERR_SHORT;
    if (!ms_source_read(&reader->source, 0, &header->magic, sizeof header->magic))
        return MS_ERR_READ;
    if (header->magic != MS_FILE_MAGIC)
        return MS_ERR_MAGIC;
    if (reader->source.size < MS_HEADER_SIZE)
        return MS_ERR_SHORT;
    if (!ms_source_read(&reader->source, 0, header, sizeof *header))
        return MS_ERR_READ;
    header_repair(reader);
    if (header->major != MS_FORMAT_MAJOR)
        return MS_ERR_VERSION;
    if (header->incompatible)
        return MS_ERR_FEATURES;
    if (header->header_size < sizeof *header)
        header->header_size = MS_HEADER_SIZE;
    if (header->live_size < sizeof(struct ms_live) || header->live_size > LIVE_SIZE_MAX ||
            header->live_size % MS_BLOCK_ALIGN)
        header->live_size = MS_LIVE_SIZE;
    return MS_OK;
}

// The 64 bytes at `offset`, NULL past the end of the file.
static const struct ms_block *scan_at(struct scan *scan, uint64_t offset)
{
    uint64_t size = scan->reader->source.size;
    if (offset > size || size - offset < sizeof(struct ms_block))
        return NULL;
    if (offset < scan->window || offset + sizeof(struct ms_block) > scan->window + scan->filled) {
        uint64_t left = size - offset;
        scan->window = offset;
        scan->filled = left < SCAN_CHUNK ? (size_t)left : SCAN_CHUNK;
        if (!ms_source_read(&scan->reader->source, offset, scan->chunk, scan->filled)) {
            scan->filled = 0;
            return NULL;
        }
    }
    return (const struct ms_block *)(const void *)(scan->chunk + (offset - scan->window));
}

static bool is_block(const struct ms_block *block)
{
    return block->magic == MS_BLOCK_MAGIC && block->header_size >= sizeof *block &&
           ms_crc32(block, offsetof(struct ms_block, crc)) == block->crc;
}

static bool is_zero(const struct ms_block *block)
{
    static const struct ms_block zero;
    return memcmp(block, &zero, sizeof zero) == 0;
}

static void scan_damage(struct scan *scan, uint64_t offset)
{
    if (scan->damage_end == 0)
        scan->damage = offset;
    scan->damage_end = offset + MS_BLOCK_ALIGN;
}

static void scan_damage_ends(struct scan *scan)
{
    if (scan->damage_end)
        ms_reader_damaged(
                scan->reader, scan->damage, scan->damage_end - scan->damage, "not a block");
    scan->damage_end = 0;
}

static struct ms_entry *entry_add(
        struct ms_reader *reader, uint64_t offset, const struct ms_block *block)
{
    reader->entries = ms_memory_grow(reader->entries, reader->entry_count + 1,
            &reader->entry_capacity, sizeof *reader->entries);
    struct ms_entry *entry = &reader->entries[reader->entry_count++];
    *entry = (struct ms_entry){
            .offset = offset,
            .sequence = block->sequence,
            .process = block->process,
            .thread = block->thread,
            .events = block->events,
            .type = block->type,
    };
    return entry;
}

// A live block is of use while it has an owner.
static void scan_live(struct scan *scan, uint64_t offset, const struct ms_block *block)
{
    struct ms_live live;
    if (!ms_source_read(&scan->reader->source, offset, &live, sizeof live) || live.owner == 0)
        return;
    struct ms_entry *entry = entry_add(scan->reader, offset, block);
    entry->process = (uint32_t)(live.owner >> 32);
    entry->thread = (uint32_t)live.owner;
    entry->sequence = live.sequence;
    struct ms_block alive = *block;
    alive.process = entry->process;
    ms_process_note(&scan->reader->processes, &alive, (struct ms_cursor){0});
}

static void scan_payload(struct scan *scan, uint64_t offset, const struct ms_block *block)
{
    struct ms_reader *reader = scan->reader;
    struct ms_entry *entry = entry_add(reader, offset, block);
    ms_clock_pair(&reader->clock, block->ticks, block->mono_ns);
    // A failure is judged when it is known what live blocks there are.
    entry->failed =
            !ms_unpack_payload(&reader->unpack, &reader->source, offset, block, &scan->payload);
    struct ms_cursor payload = ms_buffer_cursor(&scan->payload);
    if (!entry->failed)
        entry->failed = !ms_process_note(&reader->processes, block, payload);
    if (!entry->failed && block->type == MS_BLOCK_SPAWN)
        entry->failed = !ms_spawns_note(&reader->spawns, block, payload);
}

static uint64_t block_size(const struct ms_reader *reader, const struct ms_block *block)
{
    if (block->type == MS_BLOCK_LIVE)
        return reader->header.live_size;
    return ms_align_up((uint64_t)block->header_size + block->stored_size, MS_BLOCK_ALIGN);
}

// A good header at `offset`. Returns where to go on.
static uint64_t scan_block(struct scan *scan, uint64_t offset, const struct ms_block *found)
{
    struct ms_reader *reader = scan->reader;
    const struct ms_block block = *found;
    uint64_t end = offset + block_size(reader, &block);
    uint64_t last_byte =
            block.type == MS_BLOCK_LIVE ? end : offset + block.header_size + block.stored_size;
    scan_damage_ends(scan);
    reader->cut_short |= last_byte > reader->source.size;
    if (block.type == MS_BLOCK_LIVE)
        scan_live(scan, offset, &block);
    else if ((scan->is_tail = last_byte > reader->source.size))
        return offset + MS_BLOCK_ALIGN;
    else if (block.type >= MS_BLOCK_PROCESS && block.type <= MS_BLOCK_SPAWN)
        scan_payload(scan, offset, &block);
    else
        reader->unknown_blocks++;
    return end;
}

static void scan_file(struct scan *scan)
{
    struct ms_reader *reader = scan->reader;
    uint64_t offset = ms_align_up(reader->header.header_size, MS_BLOCK_ALIGN);
    const struct ms_block *block;
    while ((block = scan_at(scan, offset))) {
        if (is_block(block)) {
            offset = scan_block(scan, offset, block);
            continue;
        }
        if (!is_zero(block) && !scan->is_tail)
            scan_damage(scan, offset);
        offset += MS_BLOCK_ALIGN;
    }
    scan_damage_ends(scan);
    // The last block's padding need not be there.
    reader->cut_short |=
            ms_align_up(reader->source.size, MS_BLOCK_ALIGN) < reader->header.space_next;
}

enum ms_err ms_reader_open(struct ms_reader *reader)
{
    enum ms_err error = header_read(reader);
    if (error)
        return error;
    struct scan *scan = ms_memory_zeroed(1, sizeof *scan);
    scan->reader = reader;
    ms_unpack_open(&reader->unpack);
    ms_clock_begin(&reader->clock, &reader->header);
    scan_file(scan);
    ms_buffer_free(&scan->payload);
    free(scan);
    ms_clock_end(&reader->clock);
    ms_process_link(&reader->processes);
    ms_spawns_link(&reader->spawns);
    ms_family_build(&reader->family, &reader->processes, &reader->spawns);
    ms_index_build(reader);
    return MS_OK;
}

bool ms_reader_batch(struct ms_reader *reader, const struct ms_entry *entry, struct ms_batch *batch)
{
    return ms_batch_open(
            batch, &reader->unpack, &reader->source, entry->offset, reader->header.live_size);
}

bool ms_reader_is_sound(struct ms_reader *reader, const struct ms_entry *entry)
{
    struct ms_batch batch = {0};
    struct ms_event event;
    bool is_sound = ms_reader_batch(reader, entry, &batch);
    while (is_sound && ms_batch_next(&batch, &event))
        ;
    is_sound &= !batch.bad;
    ms_batch_free(&batch);
    return is_sound;
}

void ms_reader_malformed(struct ms_reader *reader, struct ms_entry *entry)
{
    struct ms_block block;
    if (!entry->noted && ms_source_read(&reader->source, entry->offset, &block, sizeof block))
        ms_reader_damaged(reader, entry->offset, block_size(reader, &block), "payload of a block");
    entry->failed = entry->stale = entry->noted = true;
}

static int by_damage_offset(const void *a, const void *b)
{
    const struct ms_damage *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

void ms_reader_sort_damage(struct ms_reader *reader)
{
    if (reader->damage_count)
        qsort(reader->damage, reader->damage_count, sizeof *reader->damage, by_damage_offset);
}

bool ms_reader_is_truncated(const struct ms_reader *reader)
{
    // A trace without any process is of one that was killed as it started.
    if (reader->cut_short || reader->processes.count == 0)
        return true;
    for (size_t i = 0; i < reader->processes.count; i++)
        if (reader->processes.list[i].ending.fate == MS_FATE_OPEN)
            return true;
    return false;
}

bool ms_reader_is_damaged(const struct ms_reader *reader)
{
    // Buffers that are missing from a file that is cut short were behind the cut.
    return reader->damage_count || (reader->missing_buffers && !reader->cut_short);
}

void ms_reader_close(struct ms_reader *reader)
{
    ms_unpack_close(&reader->unpack);
    ms_family_free(&reader->family);
    ms_spawns_free(&reader->spawns);
    ms_process_free(&reader->processes);
    free(reader->entries);
    free(reader->threads);
    free(reader->damage);
    ms_source_close(&reader->source);
}
