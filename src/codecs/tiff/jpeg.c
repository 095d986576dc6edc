/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/jpeg.h"

#include "codecs/codec.h"
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/segment.h"

#include <string.h>

enum { ADOBE_SIZE = 16 };

extern const hr_codec hr_codec_jpeg;

static uint8_t *append(uint8_t *p, const void *bytes, size_t size)
{
    memcpy(p, bytes, size);
    return p + size;
}

/* Copies the segments before the scan, without those of applications: what a JFIF or Adobe marker
 * says of the colours does not count in TIFF. What follows is copied as it is. */
static uint8_t *append_segments(uint8_t *p, const uint8_t *in, size_t size)
{
    size_t at = 2, from;
    for (;;) {
        from = at;
        hr_jpeg_segment s = hr_jpeg_segment_next(in, size, &at);
        if (s.marker < 0 || s.marker == MARKER_SOS || s.marker == MARKER_EOI)
            break;
        if (s.marker < MARKER_APP0 || s.marker > MARKER_APP15)
            p = append(p, in + from, at - from);
    }
    return append(p, in + from, size - from);
}

/* A JPEG block lacks the tables that all blocks share, and says nothing about its colours: puts the
 * tables and an Adobe marker before its segments. CMYK without such a marker is not inverted. */
static uint8_t *make_file(const hr_tiff *t, const uint8_t *in, size_t size, size_t *made,
                          hr_arena *arena, hr_error *error)
{
    size_t tables = t->tables.size == 1 && t->tables.count >= 4 ? (size_t)t->tables.count - 4 : 0;
    const uint8_t adobe[ADOBE_SIZE] = {0xFF, MARKER_APP14, 0, 14, 'A', 'd', 'o',    'b', 'e',
                                       0,    100,          0, 0,  0,   0,   t->luma};
    uint8_t *file = hr_arena_alloc(arena, size + tables + sizeof adobe, error), *p = file;
    if (!file)
        return NULL;
    p = append(p, in, 2);
    if (tables > 0)
        p = append(p, t->tables.first + 2, tables);
    if (!t->inks)
        p = append(p, adobe, sizeof adobe);
    *made = (size_t)(append_segments(p, in, size) - file);
    return file;
}

hr_status hr_tiff_unpack_jpeg(const hr_tiff *t, const uint8_t *in, size_t size, uint8_t *out,
                              uint32_t rows, hr_op_call *c, hr_error *error)
{
    hr_image_info info = {0};
    int32_t channels = (int32_t)t->stored;

    if (size < 4 || in[0] != 0xFF || in[1] != MARKER_SOI)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: a block is not a JPEG file");
    uint8_t *file = make_file(t, in, size, &size, c->arena, error);
    HR_TRY_ALLOC(file);
    HR_TRY(hr_codec_jpeg.header(file, size, &info, error));
    int32_t components = t->inks ? 4 : channels;
    if (info.components != components || info.channels != channels || info.bits != 8 ||
        info.width < (int32_t)t->block_w || info.height < (int32_t)rows)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: a JPEG block of %dx%d pixels with %d components of %d bits does not "
                       "fit the file, which needs %ux%u with %d of 8",
                       info.width, info.height, info.components, info.bits, t->block_w, rows,
                       components);
    info.codec = &hr_codec_jpeg;
    hr_codec_request q = {.window = {.h = rows, .w = t->block_w},
                          .channels = channels,
                          .dst = out,
                          .stride = hr_tiff_row_size(t)};
    return hr_codec_jpeg.decode(file, size, &info, &q, c, error);
}
