// SPDX-License-Identifier: MIT
// Owns the putting together of property lists.
#include "note.h"

#include "sink.h"
#include "sys.h"

void ms_note_begin(struct ms_note *note, void *memory, size_t size)
{
    note->block = memory;
    memset(note->block, 0, sizeof *note->block);
    uint8_t *payload = (uint8_t *)(note->block + 1);
    note->out = (struct ms_writer){payload, (uint8_t *)memory + size, false};
}

void ms_note_bytes(struct ms_note *note, unsigned tag, const void *data, size_t size)
{
    if ((size_t)(note->out.end - note->out.at) < size + 1 + MS_VARINT_MAX)
        return;
    ms_put_u8(&note->out, (uint8_t)tag);
    ms_put_varint(&note->out, size);
    ms_put_bytes(&note->out, data, size);
}

void ms_note_number(struct ms_note *note, unsigned tag, uint64_t value)
{
    uint8_t bytes[MS_VARINT_MAX];
    struct ms_writer number = {bytes, bytes + sizeof bytes, false};
    ms_put_varint(&number, value);
    ms_note_bytes(note, tag, bytes, (size_t)(number.at - bytes));
}

void ms_note_text(struct ms_note *note, unsigned tag, const char *text, size_t most)
{
    size_t length = ms_sys_length(text);
    ms_note_bytes(note, tag, text, length < most ? length : most);
}

void ms_note_arguments(
        struct ms_note *note, unsigned tag, char *const *arguments, char *text, size_t size)
{
    size_t used = 0;
    for (; *arguments != NULL && used < size; arguments++) {
        size_t length = ms_sys_length(*arguments) + 1;
        length = length < size - used ? length : size - used;
        memcpy(text + used, *arguments, length);
        used += length;
    }
    ms_note_bytes(note, tag, text, used);
}

bool ms_note_write(struct ms_note *note, enum ms_block_type type, uint32_t process)
{
    struct ms_block *block = note->block;
    const uint8_t *payload = (const uint8_t *)(block + 1);
    block->type = (uint8_t)type;
    block->flags = MS_BLOCK_RAW;
    block->process = process;
    block->stored_size = block->raw_size = (uint32_t)(note->out.at - payload);
    block->payload_crc = ms_crc32(payload, block->stored_size);
    return ms_sink_write(block) == 0;
}
