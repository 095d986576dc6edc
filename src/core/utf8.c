/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* UTF-8 as in RFC 3629. */
#include "core/utf8.h"

static int is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t hr_utf8_length(const char *text, size_t size)
{
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || size < 2 || !is_tail(s[1]))
        return 0;
    if (s[0] < 0xe0)
        return 2;
    if (size < 3 || !is_tail(s[2]))
        return 0;
    if (s[0] < 0xf0) {
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
            return 0;
        return 3;
    }
    if (size < 4 || !is_tail(s[3]) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return 4;
}
