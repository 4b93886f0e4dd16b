// SPDX-License-Identifier: MIT
// The table of RFC 3629, section 4: the second byte has a narrower range after some first bytes,
// which keeps out overlong forms, surrogates and what lies above U+10FFFF.
#include "utf8.h"

size_t ms_utf8_size(const unsigned char *at, size_t left)
{
    static const unsigned char low[] = {0xa0, 0x80, 0x80, 0x90, 0x80};
    static const unsigned char high[] = {0xbf, 0xbf, 0x9f, 0xbf, 0x8f};
    unsigned char first = at[0];
    if (first < 0x80)
        return 1;
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < size)
        return 0;
    unsigned special = first == 0xe0   ? 0
                       : first == 0xed ? 2
                       : first == 0xf0 ? 3
                       : first == 0xf4 ? 4
                                       : 1;
    if (at[1] < low[special] || at[1] > high[special])
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return size;
}
