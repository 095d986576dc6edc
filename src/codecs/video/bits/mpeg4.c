/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Units of MPEG-4 (ISO/IEC 14496-2, 6.2): the byte behind the start code says what follows. */
#include <string.h>

#include "codecs/video/bits/rbsp.h"
#include "codecs/video/bits/units.h"

enum {
    LAYER = 0x20, /* and the 15 after it */
    LAST_LAYER = 0x2f,
    SEQUENCE = 0xb0,
    END = 0xb1,
    USER_DATA = 0xb2,
    OBJECT = 0xb5,
    PICTURE = 0xb6,
    BETWEEN = 2 /* the type of a picture that is shown before the last one */
};

/* Bits of a number below `count`, but at least one. */
static int32_t bits_below(uint32_t count)
{
    int32_t bits = 1;
    while (bits < 16 && ((count - 1) >> bits) != 0)
        bits++;
    return bits;
}

static void read_layer(hr_units *u, hr_rbsp r)
{
    hr__rbsp_skip(&r, 9);
    hr__rbsp_skip(&r, hr__rbsp_bit(&r) ? 7 : 0);
    if (hr__rbsp_bits(&r, 4) == 15) /* the shape of pixels */
        hr__rbsp_skip(&r, 16);
    if (hr__rbsp_bit(&r)) { /* control parameters */
        hr__rbsp_skip(&r, 3);
        hr__rbsp_skip(&r, hr__rbsp_bit(&r) ? 79 : 0);
    }
    uint32_t shape = hr__rbsp_bits(&r, 2);
    hr__rbsp_skip(&r, 1);
    uint32_t resolution = hr__rbsp_bits(&r, 16);
    hr__rbsp_skip(&r, 1);
    if (r.over || resolution == 0 || shape != 0)
        return;
    u->time_bits = bits_below(resolution);
    hr__rbsp_skip(&r, hr__rbsp_bit(&r) ? u->time_bits : 0);
    hr__rbsp_skip(&r, 1);
    uint32_t width = hr__rbsp_bits(&r, 13);
    hr__rbsp_skip(&r, 1);
    uint32_t height = hr__rbsp_bits(&r, 13);
    if (r.over || width == 0 || height == 0 || u->width > 0)
        return;
    u->width = (int32_t)width;
    u->height = (int32_t)height;
}

/* Encoders that put two pictures into one packet of an AVI file say so: "DivX503b1393p". */
static bool is_packed(const uint8_t *text, size_t size)
{
    size_t i = 4;
    if (size < 6 || memcmp(text, "DivX", 4) != 0)
        return false;
    while (i < size && text[i] != 'p' && text[i] != 0)
        i++;
    return i < size && text[i] == 'p';
}

static void read_picture(hr_units *u, hr_rbsp r)
{
    uint32_t type = hr__rbsp_bits(&r, 2);
    while (!r.over && hr__rbsp_bit(&r)) /* seconds */
        continue;
    hr__rbsp_skip(&r, u->time_bits + 2);
    bool coded = u->time_bits == 0 || hr__rbsp_bit(&r) || r.over;
    u->picture = (hr_unit_picture){.between = type == BETWEEN,
                                   .flags = (type == 0 && coded ? HR_VIDEO_PACKET_KEY : 0) |
                                            (coded ? 0 : HR_VIDEO_PACKET_HIDDEN)};
}

hr_unit_kind hr__mpeg4_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters)
{
    hr_rbsp r = hr__rbsp_of(unit + 1, size - 1);
    r.plain = true;
    if (unit[0] >= LAYER && unit[0] <= LAST_LAYER)
        read_layer(u, r);
    if (unit[0] == USER_DATA)
        u->packed = u->packed || is_packed(unit + 1, size - 1);
    if (unit[0] == PICTURE) {
        read_picture(u, r);
        return HR_UNIT_PICTURE;
    }
    *parameters = unit[0] <= LAST_LAYER || unit[0] == SEQUENCE || unit[0] == OBJECT;
    return unit[0] == END ? HR_UNIT_OTHER : HR_UNIT_PREFIX;
}
