/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/pixels.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <string.h>

enum { OPAQUE_INKS = 4 };

static bool is_palette(const hr_tiff *t)
{
    return t->photometric == HR_TIFF_PHOTOMETRIC_PALETTE;
}

static bool is_cmyk(const hr_tiff *t)
{
    return t->photometric == HR_TIFF_PHOTOMETRIC_CMYK;
}

uint32_t hr_tiff_channels(const hr_tiff *t)
{
    if (is_palette(t))
        return HR_TIFF_COLOURS;
    return is_cmyk(t) ? HR_MAX(t->samples - 1, OPAQUE_INKS) : t->samples;
}

/* Bits of an element that samples are unpacked to. Indices of palettes have 8. */
static uint32_t unpacked_bits(const hr_tiff *t)
{
    if (t->format != HR_TIFF_FORMAT_UINT)
        return 32;
    return t->bits <= 8 ? 8 : 16;
}

uint32_t hr_tiff_element_bits(const hr_tiff *t)
{
    return is_palette(t) ? 16 : unpacked_bits(t);
}

uint32_t hr_tiff_planes(const hr_tiff *t, uint32_t channels)
{
    if (!t->planar)
        return 1;
    if (is_palette(t))
        return 1;
    if (t->samples < HR_TIFF_COLOURS)
        return channels == t->samples ? channels : 1; /* grey, perhaps repeated */
    return is_cmyk(t) ? HR_MIN(HR_MAX(channels + 1, OPAQUE_INKS), t->samples)
                      : HR_MIN(channels, t->samples);
}

static void read_palette(hr_tiff_pixels *p)
{
    const hr_tiff *t = p->t;
    uint64_t entries = (uint64_t)1 << t->bits;
    for (uint64_t i = 0; i < entries; i++)
        for (uint64_t k = 0; k < HR_TIFF_COLOURS; k++)
            p->palette[HR_TIFF_COLOURS * i + k] =
                (uint16_t)hr_tiff_value(t, &t->palette, k * entries + i);
}

/* Whether a row of the file is one of elements. */
static bool is_unpacked(const hr_tiff *t)
{
    bool same = t->format == HR_TIFF_FORMAT_FLOAT
                    ? t->bits == 32
                    : t->format == HR_TIFF_FORMAT_UINT && (t->bits == 8 || t->bits == 16);
    return !t->planar && same;
}

hr_status hr_tiff_pixels_init(hr_tiff_pixels *p, const hr_tiff *t, uint32_t channels, size_t width,
                              hr_arena *arena, hr_error *error)
{
    p->t = t;
    p->channels = channels;
    p->used = t->planar ? hr_tiff_planes(t, channels) : t->stored;
    p->size = unpacked_bits(t) / 8;
    p->row = NULL;
    if (is_palette(t))
        read_palette(p);
    if (is_unpacked(t))
        return HR_STATUS_OK;
    for (uint32_t v = 0; t->bits < 8 && v < 1u << t->bits; v++)
        p->levels[v] = (uint8_t)(is_palette(t) ? v : hr_fill_bits(v, t->bits, 8));
    p->row = hr_arena_alloc(arena, width * p->used * p->size, error);
    return p->row ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* ---- samples to elements ---- */

/* A float of 16 bits. */
static float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3FF;
    uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    float v;
    if (exponent == 0) {
        v = (float)fraction * (1.0f / (1 << 24));
        return sign ? -v : v;
    }
    if (exponent == 31)
        bits = sign | 0x7F800000u | fraction << 13;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Sample `i` of a row of whole bytes, as a float; the largest integer is 1. */
static float float_value(const hr_tiff *t, const uint8_t *row, size_t i)
{
    if (t->format == HR_TIFF_FORMAT_INT) {
        int16_t v;
        if (t->bits == 8)
            return (float)(int8_t)row[i] / INT8_MAX;
        memcpy(&v, row + 2 * i, sizeof v);
        return (float)v / INT16_MAX;
    }
    if (t->bits == 16) {
        uint16_t v;
        memcpy(&v, row + 2 * i, sizeof v);
        return half_value(v);
    }
    if (t->bits == 64) {
        double v;
        memcpy(&v, row + 8 * i, sizeof v);
        return (float)v;
    }
    float v;
    memcpy(&v, row + 4 * i, sizeof v);
    return v;
}

/* Sample `i` of a row of packed integers, first bit first. */
static uint32_t packed_value(const uint8_t *row, size_t i, uint32_t bits)
{
    size_t at = i * bits, last = (at + bits - 1) / 8;
    uint32_t v = 0;
    for (size_t k = at / 8; k <= last; k++)
        v = v << 8 | row[k];
    return v >> (8 * (last + 1) - at - bits) & ((1u << bits) - 1);
}

/* `n` samples from sample `x` of the row, to every `step`-th element from dst[first]. Indices of
 * palettes stay as they are. */
static void unpack(const hr_tiff_pixels *p, const uint8_t *row, size_t x, size_t n, size_t first,
                   size_t step)
{
    const hr_tiff *t = p->t;
    uint32_t bits = unpacked_bits(t);
    uint8_t *dst = p->row + first * p->size;
    if (bits == 8 && t->bits == 8) {
        for (size_t i = 0; i < n; i++)
            dst[i * step] = row[x + i];
        return;
    }
    if (t->format != HR_TIFF_FORMAT_INT && t->bits == bits) {
        for (size_t i = 0; i < n; i++, dst += step * p->size)
            memcpy(dst, row + (x + i) * p->size, p->size);
        return;
    }
    for (size_t i = 0; i < n; i++, dst += step * p->size) {
        if (bits == 32) {
            float v = float_value(t, row, x + i);
            memcpy(dst, &v, sizeof v);
        } else if (bits == 16) {
            uint16_t v = (uint16_t)hr_fill_bits(packed_value(row, x + i, t->bits), t->bits, bits);
            memcpy(dst, &v, sizeof v);
        } else {
            *dst = p->levels[packed_value(row, x + i, t->bits)];
        }
    }
}

/* ---- elements to pixels ---- */

/* Copies elements. A grey one is repeated where more channels are asked for; a channel that the
 * file lacks is opaque. */
static void put_elements(const hr_tiff_pixels *p, uint8_t *dst, const uint8_t *row, size_t n)
{
    size_t size = p->size, channels = p->channels, in = p->used;
    bool grey = in < HR_TIFF_COLOURS;
    if (in == channels) {
        memcpy(dst, row, n * in * size);
        return;
    }
    for (size_t i = 0; i < n; i++, row += in * size)
        for (size_t k = 0; k < channels; k++, dst += size) {
            if (k < in || grey)
                memcpy(dst, row + (grey ? 0 : k) * size, size);
            else
                memset(dst, 0xFF, size);
        }
}

/* Samples beside an index are ignored, as in DALI. */
static void put_colours(const hr_tiff_pixels *p, uint8_t *dst, const uint8_t *row, size_t n)
{
    size_t pixel = p->channels * sizeof p->palette[0];
    for (size_t i = 0; i < n; i++, row += p->used, dst += pixel)
        memcpy(dst, p->palette + (size_t)HR_TIFF_COLOURS * row[0], pixel);
}

/* Inks become red, green and blue. Without further samples, a fourth channel is opaque. */
static void put_inks(const hr_tiff_pixels *p, uint8_t *dst, const uint8_t *row, size_t n)
{
    size_t size = p->size, black = 3;
    uint32_t top = size == 1 ? UINT8_MAX : UINT16_MAX;
    for (size_t i = 0; i < n; i++, row += p->used * size) {
        uint16_t inks[OPAQUE_INKS] = {0};
        for (size_t k = 0; k < OPAQUE_INKS; k++)
            memcpy(&inks[k], row + k * size, size);
        for (size_t k = 0; k < p->channels; k++, dst += size) {
            uint16_t v = (uint16_t)top;
            if (k < black)
                v = (uint16_t)((uint64_t)(top - inks[k]) * (top - inks[black]) / top);
            else if (k + 1 < p->used)
                memcpy(&v, row + (k + 1) * size, size);
            memcpy(dst, &v, size);
        }
    }
}

static void invert(uint8_t *element, size_t size)
{
    float v;
    if (size == sizeof v) {
        memcpy(&v, element, sizeof v);
        v = 1.0f - v;
        memcpy(element, &v, sizeof v);
        return;
    }
    for (size_t k = 0; k < size; k++)
        element[k] = (uint8_t)~element[k];
}

/* The channels that hold colours. */
static void invert_row(const hr_tiff_pixels *p, uint8_t *dst, size_t n)
{
    size_t colours = p->t->samples - p->t->extra, channels = p->channels;
    if (p->used < channels || colours > channels) /* a repeated one */
        colours = channels;
    for (size_t i = 0; i < n; i++, dst += channels * p->size)
        for (size_t k = 0; k < colours; k++)
            invert(dst + k * p->size, p->size);
}

static uint8_t clamp_u8(float v)
{
    return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5f);
}

/* In place: the first three channels of pixels become red, green and blue. */
static void to_rgb(const hr_tiff_pixels *p, uint8_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++, dst += p->channels) {
        float y = dst[0], cb = (float)dst[1] - 128, cr = (float)dst[2] - 128;
        dst[0] = clamp_u8(y + 1.402f * cr);
        dst[1] = clamp_u8(y - 0.344136f * cb - 0.714136f * cr);
        dst[2] = clamp_u8(y + 1.772f * cb);
    }
}

void hr_tiff_pixels_put(const hr_tiff_pixels *p, uint8_t *dst, const uint8_t *const *rows, size_t x,
                        size_t n)
{
    const hr_tiff *t = p->t;
    const uint8_t *row = p->row;
    if (!row)
        row = rows[0] + x * p->used * p->size;
    else if (!t->planar)
        unpack(p, rows[0], x * p->used, n * p->used, 0, 1);
    else
        for (size_t k = 0; k < p->used; k++)
            unpack(p, rows[k], x, n, k, p->used);
    if (is_palette(t))
        put_colours(p, dst, row, n);
    else if (is_cmyk(t))
        put_inks(p, dst, row, n);
    else
        put_elements(p, dst, row, n);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO)
        invert_row(p, dst, n);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR)
        to_rgb(p, dst, n);
}
