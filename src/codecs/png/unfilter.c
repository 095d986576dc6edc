/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The filters of PNG. All but UP need the previous pixel, so a row takes one step per pixel. Each
 * step computes all bytes of its pixel at once, in a word or in a vector. */
#include "codecs/png/unfilter.h"

#include <string.h>

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t eight __attribute__((vector_size(16)));

#define STEP static inline __attribute__((always_inline))
#define EACH(byte) (UINT64_MAX / 255 * (byte))

/* Loads a pixel of up to 8 bytes. The bytes after the pixel are loaded, too, but not used. */
STEP uint64_t load(const uint8_t *p, size_t bpp)
{
    uint64_t v = 0;
    memcpy(&v, p, bpp > 4 ? 8 : 4);
    return v;
}

STEP uint64_t add(uint64_t a, uint64_t b)
{
    return ((a & EACH(0x7f)) + (b & EACH(0x7f))) ^ ((a ^ b) & EACH(0x80));
}

STEP uint64_t mean(uint64_t a, uint64_t b)
{
    return (a & b) + ((a ^ b) >> 1 & EACH(0x7f));
}

STEP eight wide(uint64_t v)
{
    bytes8 b;
    memcpy(&b, &v, sizeof b);
    return __builtin_convertvector(b, eight);
}

STEP eight magnitude(eight v)
{
    eight negative = v >> 15;
    return (v ^ negative) - negative;
}

/* Of left, above and above left, the one that is nearest to left + above - above left. */
STEP eight paeth(eight a, eight b, eight c)
{
    eight pa = magnitude(b - c), pb = magnitude(a - c), pc = magnitude(a + b - c - c);
    eight is_b = pb <= pc, is_a = (pa <= pb) & (pa <= pc);
    eight other = (b & is_b) | (c & ~is_b);
    return (a & is_a) | (other & ~is_a);
}

STEP void sub_row(uint8_t *row, size_t n, size_t bpp)
{
    uint64_t a = 0;
    for (size_t i = 0; i + bpp <= n; i += bpp) {
        a = add(a, load(row + i, bpp));
        memcpy(row + i, &a, bpp);
    }
}

STEP void mean_row(uint8_t *row, const uint8_t *above, size_t n, size_t bpp)
{
    uint64_t a = 0;
    for (size_t i = 0; i + bpp <= n; i += bpp) {
        a = add(mean(a, load(above + i, bpp)), load(row + i, bpp));
        memcpy(row + i, &a, bpp);
    }
}

STEP void paeth_row(uint8_t *row, const uint8_t *above, size_t n, size_t bpp)
{
    eight a = {0}, c = {0};
    for (size_t i = 0; i + bpp <= n; i += bpp) {
        eight b = wide(load(above + i, bpp));
        a = (paeth(a, b, c) + wide(load(row + i, bpp))) & 255;
        c = b;
        bytes8 done = __builtin_convertvector(a, bytes8);
        memcpy(row + i, &done, bpp);
    }
}

STEP void unfilter(uint8_t *row, const uint8_t *above, size_t n, size_t bpp, int32_t filter)
{
    if (filter == HR_PNG_FILTER_SUB)
        sub_row(row, n, bpp);
    else if (filter == HR_PNG_FILTER_MEAN)
        mean_row(row, above, n, bpp);
    else if (filter == HR_PNG_FILTER_PAETH)
        paeth_row(row, above, n, bpp);
    for (size_t i = 0; i < n && filter == HR_PNG_FILTER_UP; i++)
        row[i] = (uint8_t)(row[i] + above[i]);
}

void hr_png_unfilter(uint8_t *restrict row, const uint8_t *restrict above, size_t n, size_t bpp,
                     int32_t filter)
{
    switch (bpp) { /* each with its own loops */
    case 1:
        unfilter(row, above, n, 1, filter);
        break;
    case 2:
        unfilter(row, above, n, 2, filter);
        break;
    case 3:
        unfilter(row, above, n, 3, filter);
        break;
    case 4:
        unfilter(row, above, n, 4, filter);
        break;
    case 6:
        unfilter(row, above, n, 6, filter);
        break;
    default:
        unfilter(row, above, n, 8, filter);
        break;
    }
}
