/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/fax.h"

#include "core/core.h"

#include <string.h>

enum {
    TERMINATING = 64, /* codes of 0 to 63 pixels; then multiples of 64 */
    RUNS = 104,
    LOOKUP_BITS = 13, /* the longest code */
    EOL_BITS = 11,    /* zeros, before a one */
    MODE_BITS = 7,
    OPTION_2D = 1, /* of T4Options */
    WHITE = 0,
    BLACK = 1
};

typedef struct run_code {
    uint8_t length, bits;
} run_code;

/* Of white and of black runs. */
static const run_code run_codes[2][RUNS] = {
    {{8, 0x35},  {6, 0x07},  {4, 0x07},  {4, 0x08},  {4, 0x0B},  {4, 0x0C},  {4, 0x0E},
     {4, 0x0F},  {5, 0x13},  {5, 0x14},  {5, 0x07},  {5, 0x08},  {6, 0x08},  {6, 0x03},
     {6, 0x34},  {6, 0x35},  {6, 0x2A},  {6, 0x2B},  {7, 0x27},  {7, 0x0C},  {7, 0x08},
     {7, 0x17},  {7, 0x03},  {7, 0x04},  {7, 0x28},  {7, 0x2B},  {7, 0x13},  {7, 0x24},
     {7, 0x18},  {8, 0x02},  {8, 0x03},  {8, 0x1A},  {8, 0x1B},  {8, 0x12},  {8, 0x13},
     {8, 0x14},  {8, 0x15},  {8, 0x16},  {8, 0x17},  {8, 0x28},  {8, 0x29},  {8, 0x2A},
     {8, 0x2B},  {8, 0x2C},  {8, 0x2D},  {8, 0x04},  {8, 0x05},  {8, 0x0A},  {8, 0x0B},
     {8, 0x52},  {8, 0x53},  {8, 0x54},  {8, 0x55},  {8, 0x24},  {8, 0x25},  {8, 0x58},
     {8, 0x59},  {8, 0x5A},  {8, 0x5B},  {8, 0x4A},  {8, 0x4B},  {8, 0x32},  {8, 0x33},
     {8, 0x34},  {5, 0x1B},  {5, 0x12},  {6, 0x17},  {7, 0x37},  {8, 0x36},  {8, 0x37},
     {8, 0x64},  {8, 0x65},  {8, 0x68},  {8, 0x67},  {9, 0xCC},  {9, 0xCD},  {9, 0xD2},
     {9, 0xD3},  {9, 0xD4},  {9, 0xD5},  {9, 0xD6},  {9, 0xD7},  {9, 0xD8},  {9, 0xD9},
     {9, 0xDA},  {9, 0xDB},  {9, 0x98},  {9, 0x99},  {9, 0x9A},  {6, 0x18},  {9, 0x9B},
     {11, 0x08}, {11, 0x0C}, {11, 0x0D}, {12, 0x12}, {12, 0x13}, {12, 0x14}, {12, 0x15},
     {12, 0x16}, {12, 0x17}, {12, 0x1C}, {12, 0x1D}, {12, 0x1E}, {12, 0x1F}},
    {{10, 0x37}, {3, 0x02},  {2, 0x03},  {2, 0x02},  {3, 0x03},  {4, 0x03},  {4, 0x02},
     {5, 0x03},  {6, 0x05},  {6, 0x04},  {7, 0x04},  {7, 0x05},  {7, 0x07},  {8, 0x04},
     {8, 0x07},  {9, 0x18},  {10, 0x17}, {10, 0x18}, {10, 0x08}, {11, 0x67}, {11, 0x68},
     {11, 0x6C}, {11, 0x37}, {11, 0x28}, {11, 0x17}, {11, 0x18}, {12, 0xCA}, {12, 0xCB},
     {12, 0xCC}, {12, 0xCD}, {12, 0x68}, {12, 0x69}, {12, 0x6A}, {12, 0x6B}, {12, 0xD2},
     {12, 0xD3}, {12, 0xD4}, {12, 0xD5}, {12, 0xD6}, {12, 0xD7}, {12, 0x6C}, {12, 0x6D},
     {12, 0xDA}, {12, 0xDB}, {12, 0x54}, {12, 0x55}, {12, 0x56}, {12, 0x57}, {12, 0x64},
     {12, 0x65}, {12, 0x52}, {12, 0x53}, {12, 0x24}, {12, 0x37}, {12, 0x38}, {12, 0x27},
     {12, 0x28}, {12, 0x58}, {12, 0x59}, {12, 0x2B}, {12, 0x2C}, {12, 0x5A}, {12, 0x66},
     {12, 0x67}, {10, 0x0F}, {12, 0xC8}, {12, 0xC9}, {12, 0x5B}, {12, 0x33}, {12, 0x34},
     {12, 0x35}, {13, 0x6C}, {13, 0x6D}, {13, 0x4A}, {13, 0x4B}, {13, 0x4C}, {13, 0x4D},
     {13, 0x72}, {13, 0x73}, {13, 0x74}, {13, 0x75}, {13, 0x76}, {13, 0x77}, {13, 0x52},
     {13, 0x53}, {13, 0x54}, {13, 0x55}, {13, 0x5A}, {13, 0x5B}, {13, 0x64}, {13, 0x65},
     {11, 0x08}, {11, 0x0C}, {11, 0x0D}, {12, 0x12}, {12, 0x13}, {12, 0x14}, {12, 0x15},
     {12, 0x16}, {12, 0x17}, {12, 0x1C}, {12, 0x1D}, {12, 0x1E}, {12, 0x1F}}};

typedef enum mode {
    MODE_BAD,
    MODE_PASS,
    MODE_HORIZONTAL,
    MODE_VERTICAL /* with an offset */
} mode;

typedef struct mode_code {
    uint8_t length, bits;
    mode mode;
    int8_t offset;
} mode_code;

static const mode_code mode_codes[] = {
    {1, 1, MODE_VERTICAL, 0},   {3, 3, MODE_VERTICAL, 1}, {3, 2, MODE_VERTICAL, -1},
    {3, 1, MODE_HORIZONTAL, 0}, {4, 1, MODE_PASS, 0},     {6, 3, MODE_VERTICAL, 2},
    {6, 2, MODE_VERTICAL, -2},  {7, 3, MODE_VERTICAL, 3}, {7, 2, MODE_VERTICAL, -3},
};

typedef struct fax {
    const uint8_t *in;
    uint64_t size, at; /* bits */
    int64_t width;
    uint8_t lookup[2][1 << LOOKUP_BITS]; /* the number of a code, plus 1 */
} fax;

/* ---- codes ---- */

static void fill_lookup(fax *f)
{
    memset(f->lookup, 0, sizeof f->lookup);
    for (int colour = WHITE; colour <= BLACK; colour++)
        for (size_t i = 0; i < RUNS; i++) {
            const run_code *c = &run_codes[colour][i];
            size_t first = (size_t)c->bits << (LOOKUP_BITS - c->length);
            memset(f->lookup[colour] + first, (int)i + 1, (size_t)1 << (LOOKUP_BITS - c->length));
        }
}

/* The next `n` <= 16 bits; zeros behind the end. */
static uint32_t peek(const fax *f, uint32_t n)
{
    uint32_t v = 0;
    for (uint64_t i = 0, byte = f->at / 8; i < 3; i++, byte++)
        v = v << 8 | (byte < f->size / 8 ? f->in[byte] : 0u);
    return v >> (24 - f->at % 8 - n) & ((1u << n) - 1);
}

/* Pixels of a run of one colour, which is any number of large codes and a small one; -1 for damaged
 * data. */
static int64_t read_run(fax *f, int colour)
{
    int64_t total = 0;
    while (total <= f->width) {
        int32_t i = f->lookup[colour][peek(f, LOOKUP_BITS)] - 1;
        if (i < 0)
            return -1;
        f->at += run_codes[colour][i].length;
        if (i < TERMINATING)
            return total + i;
        total += 64 * (i - TERMINATING + 1);
    }
    return -1;
}

static mode_code read_mode(fax *f)
{
    uint32_t bits = peek(f, MODE_BITS);
    for (size_t i = 0; i < HR_COUNT_OF(mode_codes); i++) {
        const mode_code *c = &mode_codes[i];
        if (bits >> (MODE_BITS - c->length) == c->bits) {
            f->at += c->length;
            return *c;
        }
    }
    return (mode_code){0};
}

/* ---- rows ---- */

/* The first pixel of the colour at or behind `x`, or the width. */
static int64_t find_pixel(const fax *f, const uint8_t *row, int64_t x, int colour)
{
    const uint8_t other = colour == BLACK ? 0 : 0xFF;
    while (x < f->width) {
        if (x % 8 == 0 && row[x / 8] == other) {
            x += 8;
            continue;
        }
        if ((row[x / 8] >> (7 - x % 8) & 1) == colour)
            return x;
        x++;
    }
    return f->width;
}

/* The row is white before. */
static void blacken(uint8_t *row, int64_t x0, int64_t x1)
{
    while (x0 < x1) {
        if (x0 % 8 == 0 && x1 - x0 >= 8) {
            memset(row + x0 / 8, 0xFF, (size_t)(x1 - x0) / 8);
            x0 += (x1 - x0) / 8 * 8;
            continue;
        }
        row[x0 / 8] |= (uint8_t)(0x80 >> x0 % 8);
        x0++;
    }
}

/* Two runs, of the colour and of the other one; false for damaged data. */
static bool read_runs(fax *f, uint8_t *row, int64_t *x, int colour)
{
    for (int i = 0; i < 2; i++, colour ^= 1) {
        int64_t run = read_run(f, colour);
        if (run < 0 || run > f->width - *x)
            return false;
        if (colour == BLACK)
            blacken(row, *x, *x + run);
        *x += run;
    }
    return true;
}

static bool read_1d(fax *f, uint8_t *row)
{
    int colour = WHITE;
    for (int64_t x = 0; x < f->width; colour ^= 1) {
        int64_t run = read_run(f, colour);
        if (run < 0 || run > f->width - x || f->at > f->size)
            return false;
        if (colour == BLACK)
            blacken(row, x, x + run);
        x += run;
    }
    return true;
}

/* `above`: the row before this one. */
static bool read_2d(fax *f, uint8_t *row, const uint8_t *above)
{
    int64_t x = 0;
    bool begun = false; /* before, the pixel left of x is a white one before the row */
    int colour = WHITE;
    while (x < f->width) {
        /* b1: the first pixel of the other colour above, right of one that has this colour */
        int64_t b1 = begun ? find_pixel(f, above, x, colour) : 0;
        b1 = find_pixel(f, above, begun ? HR_MIN(b1 + 1, f->width) : 0, !colour);
        mode_code m = read_mode(f);
        int64_t to = m.mode == MODE_PASS ? find_pixel(f, above, b1, colour) : b1 + m.offset;
        begun = true;
        if (m.mode == MODE_BAD || f->at > f->size)
            return false;
        if (m.mode == MODE_HORIZONTAL) {
            if (!read_runs(f, row, &x, colour))
                return false;
            continue;
        }
        if (to < x || to > f->width)
            return false;
        if (colour == BLACK)
            blacken(row, x, to);
        x = to;
        colour ^= m.mode == MODE_VERTICAL;
    }
    return true;
}

/* Group 3: finds the end of the row before, and says whether this one has two dimensions. */
static bool begins_2d(fax *f, uint32_t options)
{
    while (f->at < f->size && peek(f, EOL_BITS) != 0)
        f->at++;
    while (f->at < f->size && peek(f, 1) == 0)
        f->at++;
    f->at++;
    if (!(options & OPTION_2D))
        return false;
    bool two = peek(f, 1) == 0;
    f->at++;
    return two;
}

static bool read_row(fax *f, const hr_tiff *t, uint8_t *row, const uint8_t *above)
{
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_FAX_RLE:
        f->at = (f->at + 7) / 8 * 8;
        return read_1d(f, row);
    case HR_TIFF_COMPRESSION_FAX_3:
        return begins_2d(f, t->fax_options) ? read_2d(f, row, above) : read_1d(f, row);
    default:
        return read_2d(f, row, above);
    }
}

hr_status hr_tiff_unpack_fax(const hr_tiff *t, const uint8_t *in, size_t size, uint8_t *out,
                             uint32_t rows, hr_error *error)
{
    size_t row_size = hr_tiff_row_size(t);
    fax f = {.in = in, .size = 8 * (uint64_t)size, .width = t->block_w};
    fill_lookup(&f);
    memset(out, 0, rows * row_size);
    if (rows == 0)
        return HR_STATUS_OK;
    for (uint32_t y = 0; y < rows; y++) {
        uint8_t *row = out + y * row_size;
        /* above the first row, all is white: as this one still is */
        if (!read_row(&f, t, row, y == 0 ? row : row - row_size))
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: damaged CCITT data in row %u of a %s",
                           y, t->tiled ? "tile" : "strip");
    }
    return HR_STATUS_OK;
}
