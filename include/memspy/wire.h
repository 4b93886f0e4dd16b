// SPDX-License-Identifier: MIT
// Bytes on the wire: a bounded writer and a bounded cursor, both with a sticky error, so that
// encoders and decoders are straight-line code with one check at the end. Little-endian integers,
// LEB128 varints, zigzag for signed values, CRC-32 (IEEE 802.3, as zlib's crc32) for headers.
// Pure functions of their arguments: callable in every context.
#ifndef MEMSPY_WIRE_H
#define MEMSPY_WIRE_H

#include "base.h"

// The longest varint: ten groups of seven bits hold 64 bits.
#define MS_VARINT_MAX 10

// Writes into [at, end). After the first write that does not fit, `full` stays set and nothing
// more is written.
struct ms_writer {
    uint8_t *at;
    uint8_t *end;
    bool full;
};

// Reads from [at, end). After the first read past the end or malformed varint, `bad` stays set
// and every further read yields zero.
struct ms_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

MS_INLINE void ms_put_bytes(struct ms_writer *w, const void *bytes, size_t size)
{
    if (MS_UNLIKELY(w->full || (size_t)(w->end - w->at) < size)) {
        w->full = true;
        return;
    }
    memcpy(w->at, bytes, size);
    w->at += size;
}

MS_INLINE void ms_put_u8(struct ms_writer *w, uint8_t value)
{
    ms_put_bytes(w, &value, 1);
}

MS_INLINE void ms_put_varint(struct ms_writer *w, uint64_t value)
{
    if (MS_UNLIKELY(w->full || w->end - w->at < MS_VARINT_MAX)) {
        w->full = true;
        return;
    }
    while (value >= 0x80) {
        *w->at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *w->at++ = (uint8_t)value;
}

MS_INLINE uint64_t ms_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

MS_INLINE int64_t ms_unzigzag(uint64_t value)
{
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

// The bytes at the cursor, which then moves past them; NULL and `bad` when fewer are left.
MS_INLINE const uint8_t *ms_get_bytes(struct ms_cursor *c, uint64_t size)
{
    if (MS_UNLIKELY(c->bad || (uint64_t)(c->end - c->at) < size)) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    c->at += size;
    return bytes;
}

MS_INLINE uint8_t ms_get_u8(struct ms_cursor *c)
{
    const uint8_t *byte = ms_get_bytes(c, 1);
    return byte ? *byte : 0;
}

static inline uint64_t ms_get_varint_long(struct ms_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            // The tenth group has room for one bit only.
            c->bad = shift == 63 && byte > 1;
            return c->bad ? 0 : value;
        }
    }
    c->bad = true;
    return 0;
}

MS_INLINE uint64_t ms_get_varint(struct ms_cursor *c)
{
    if (MS_UNLIKELY(c->bad))
        return 0;
    if (MS_LIKELY(c->at < c->end && *c->at < 0x80))
        return *c->at++;
    return ms_get_varint_long(c);
}

// A cursor over the next `size` bytes of c; empty and bad when they are not there.
MS_INLINE struct ms_cursor ms_get_section(struct ms_cursor *c, uint64_t size)
{
    const uint8_t *bytes = ms_get_bytes(c, size);
    return (struct ms_cursor){bytes, bytes ? bytes + size : NULL, bytes == NULL};
}

// CRC-32 as zlib computes it; four bits a step, since only headers of 64 to 128 bytes need it.
static inline uint32_t ms_crc32(const void *bytes, size_t size)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190,
            0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
            0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

#endif
