/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Marker segments in the order in which libjpeg writes them, one table a segment. */
#include "codecs/jpeg/encode_header.h"

#include "codecs/jpeg/codes.h"

#include <string.h>

static uint8_t *put_byte(uint8_t *to, int32_t v)
{
    *to = (uint8_t)v;
    return to + 1;
}

static uint8_t *put_word(uint8_t *to, int32_t v)
{
    return put_byte(put_byte(to, v >> 8), v);
}

static uint8_t *put_bytes(uint8_t *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return to + size;
}

/* `size`: of the content. */
static uint8_t *put_segment(uint8_t *to, int marker, size_t size)
{
    return put_word(put_byte(put_byte(to, 0xFF), marker), (int32_t)size + 2);
}

/* Version 1.01 of JFIF, square pixels of no known size, no thumbnail. */
static uint8_t *put_jfif(uint8_t *to)
{
    static const uint8_t content[14] = {'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
    return put_bytes(put_segment(to, MARKER_APP0, sizeof content), content, sizeof content);
}

static uint8_t *put_frame(uint8_t *to, const hr_jpeg_header *h)
{
    to = put_segment(to, MARKER_SOF0, 6 + 3 * (size_t)h->components);
    to = put_byte(to, 8); /* bits of a sample */
    to = put_byte(put_word(put_word(to, h->height), h->width), h->components);
    for (int32_t i = 0; i < h->components; i++)
        to = put_byte(put_byte(put_byte(to, i + 1), i == 0 ? h->h << 4 | h->v : 0x11), i > 0);
    return to;
}

static uint8_t *put_huffman(uint8_t *to, const uint8_t *definition, int32_t number)
{
    size_t size = hr_jpeg_definition_size(definition);
    return put_bytes(put_byte(put_segment(to, MARKER_DHT, 1 + size), number), definition, size);
}

static uint8_t *put_scan(uint8_t *to, const hr_jpeg_header *h)
{
    static const uint8_t all[3] = {0, 63, 0}; /* coefficients, with all their bits */
    to = put_byte(put_segment(to, MARKER_SOS, 4 + 2 * (size_t)h->components), h->components);
    for (int32_t i = 0; i < h->components; i++)
        to = put_byte(put_byte(to, i + 1), i == 0 ? 0x00 : 0x11);
    return put_bytes(to, all, sizeof all);
}

size_t hr_jpeg_header_write(uint8_t *dst, const hr_jpeg_header *h)
{
    const int32_t tables = h->components > 1 ? 2 : 1;
    uint8_t *to = put_jfif(put_byte(put_byte(dst, 0xFF), MARKER_SOI));

    for (int32_t i = 0; i < tables; i++)
        to = put_bytes(put_byte(put_segment(to, MARKER_DQT, 65), i), h->tables[i].quant, 64);
    to = put_frame(to, h);
    for (int32_t i = 0; i < tables; i++)
        for (int32_t ac = 0; ac < 2; ac++)
            to = put_huffman(to, h->tables[i].huffman[ac], ac << 4 | i);
    if (h->restart > 0)
        to = put_word(put_segment(to, MARKER_DRI, 2), h->restart);
    return (size_t)(put_scan(to, h) - dst);
}
