// SPDX-License-Identifier: MIT
// Lists are walked twice: once to see that they are sound, then to take what they tell, so that a
// malformed one leaves nothing behind.
#include "property.h"

#include <stdlib.h>

#include "memory.h"

bool ms_property_next(struct ms_cursor *in, unsigned *tag, struct ms_cursor *value)
{
    if (in->bad || in->at == in->end)
        return false;
    *tag = ms_get_u8(in);
    *value = ms_get_section(in, ms_get_varint(in));
    return !in->bad;
}

bool ms_property_is_sound(struct ms_cursor in, bool (*has_number)(unsigned tag))
{
    struct ms_cursor value;
    unsigned tag;
    while (ms_property_next(&in, &tag, &value)) {
        if (has_number(tag))
            ms_get_varint(&value);
        in.bad |= value.bad;
    }
    return !in.bad;
}

size_t ms_property_keep_bytes(char **to, const struct ms_cursor *value, size_t most)
{
    size_t size = (size_t)(value->end - value->at);
    size = size < most ? size : most;
    free(*to);
    *to = ms_memory_text(value->at, size);
    return size;
}

void ms_property_keep_text(char **to, const struct ms_cursor *value, size_t most)
{
    ms_property_keep_bytes(to, value, most);
    if (**to)
        return;
    free(*to);
    *to = NULL;
}

uint32_t ms_property_narrow(uint64_t value, uint32_t otherwise)
{
    return value <= UINT32_MAX ? (uint32_t)value : otherwise;
}
