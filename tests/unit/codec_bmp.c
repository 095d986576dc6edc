/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* BMP: every depth, both directions, run lengths and bit fields, written pixel by pixel according
 * to the format's description. */
#include "codec_help.h"

typedef struct bmp_file {
    uint8_t data[1 << 16];
    size_t size;
} bmp_file;

static void put(bmp_file *f, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        f->data[f->size++] = i < 4 ? (uint8_t)(v >> 8 * i) : 0;
}

typedef struct kind {
    int bits;
    uint32_t compression, masks[4];
    bool top_down, core;
    uint32_t info_size; /* 0: 40 */
} kind;

/* All headers and the palette: entry i is (3 i, 255 - i, 7 i). */
static void put_headers(bmp_file *f, const kind *k, int w, int h)
{
    uint32_t info_size = k->core ? 12 : k->info_size ? k->info_size : 40;
    uint32_t colours = k->bits <= 8 ? 1u << k->bits : 0;
    uint32_t masks = k->compression == 3 && info_size == 40 ? 12 : 0;
    f->size = 0;
    put(f, 'B' | 'M' << 8, 2);
    put(f, 0, 8);
    put(f, 14 + info_size + masks + colours * (k->core ? 3 : 4), 4);
    put(f, info_size, 4);
    put(f, (uint32_t)w, k->core ? 2 : 4);
    put(f, (uint32_t)(k->top_down ? -h : h), k->core ? 2 : 4);
    put(f, 1, 2);
    put(f, (uint32_t)k->bits, 2);
    if (!k->core) {
        put(f, k->compression, 4);
        put(f, 0, 4 * 3);
        put(f, 0, 4 * 2);
        size_t more = info_size + masks - 40;
        for (size_t i = 0; i < more / 4; i++)
            put(f, i < 4 ? k->masks[i] : 0, 4);
    }
    for (uint32_t i = 0; i < colours; i++) {
        put(f, i * 7 & 255, 1);
        put(f, 255 - i, 1);
        put(f, i * 3 & 255, 1);
        if (!k->core)
            put(f, 0, 1);
    }
}

static uint32_t field(uint32_t v, uint32_t mask)
{
    if (mask == 0)
        return 0;
    while (!(mask & 1)) {
        mask >>= 1;
        v >>= 1;
    }
    return (v & mask) * 255 / mask;
}

static void want_pixel(const kind *k, uint32_t v, uint8_t *rgb)
{
    if (k->bits <= 8) {
        rgb[0] = (uint8_t)(v * 3);
        rgb[1] = (uint8_t)(255 - v);
        rgb[2] = (uint8_t)(v * 7);
        return;
    }
    static const uint32_t masks15[] = {0x7C00, 0x3E0, 0x1F}, masks24[] = {0xFF0000, 0xFF00, 0xFF};
    const uint32_t *masks = k->compression == 3 ? k->masks : k->bits == 16 ? masks15 : masks24;
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)field(v, masks[i]);
}

static bool windows_good(const bmp_file *f, const uint8_t *want, int w, int h)
{
    uint8_t *copy = malloc(f->size); /* exact size, for the sanitizers */
    memcpy(copy, f->data, f->size);
    bool good = true;
    for (int i = 0; i < 5 && good; i++) {
        hr_window window = i == 0 ? (hr_window){0, 0, h, w} : help_window(h, w);
        help_result r;
        good = help_decode(&r, copy, f->size, window, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true) &&
               help_equal(&r, want, w, window, 3);
        if (!good)
            printf("%dx%d: %s\n", w, h, r.error.message);
        free(r.data);
    }
    free(copy);
    return good;
}

static bool plain_good(const kind *k, int w, int h)
{
    static bmp_file f;
    static uint8_t want[64 * 64 * 3];
    put_headers(&f, k, w, h);
    for (int row = 0; row < h; row++) {
        int y = k->top_down ? row : h - 1 - row;
        uint32_t packed = 0;
        int filled = 0, written = 0;
        for (int x = 0; x < w; x++) {
            uint32_t v = help_random();
            if (k->bits < 32)
                v &= (1u << k->bits) - 1;
            want_pixel(k, v, want + (y * w + x) * 3);
            if (k->bits >= 8) {
                put(&f, v, k->bits / 8);
                written += k->bits / 8;
                continue;
            }
            packed = packed << k->bits | v;
            filled += k->bits;
            if (filled == 8 || x == w - 1) {
                put(&f, packed << (8 - filled) & 255, 1);
                packed = 0;
                filled = 0;
                written++;
            }
        }
        while (written++ % 4)
            put(&f, 0, 1);
    }
    return windows_good(&f, want, w, h);
}

TEST(plain)
{
    static const kind kinds[] = {
        {.bits = 1},
        {.bits = 2},
        {.bits = 4},
        {.bits = 8},
        {.bits = 16},
        {.bits = 24},
        {.bits = 32},
        {.bits = 1, .core = true},
        {.bits = 8, .core = true},
        {.bits = 24, .core = true},
        {.bits = 8, .info_size = 64},
        {.bits = 24, .info_size = 124},
        {.bits = 16, .compression = 3, .masks = {0xF800, 0x7E0, 0x1F}},
        {.bits = 32, .compression = 3, .masks = {0xFF, 0xFF00, 0xFF0000}},
        {.bits = 32, .compression = 3, .masks = {0x3FF00000, 0xFFC00, 0x3FF}},
        {.bits = 32,
         .compression = 3,
         .info_size = 108,
         .masks = {0xFF000000, 0xFF0000, 0xFF00, 0xFF}},
        {.bits = 16, .compression = 3, .info_size = 56, .masks = {0xF00, 0xF0, 0xF, 0xF000}}};
    for (size_t i = 0; i < HR_COUNT_OF(kinds); i++)
        for (int n = 0; n < 16; n++) {
            kind k = kinds[i];
            k.top_down = n % 2 && !k.core;
            CHECK(plain_good(&k, help_between(1, 40), help_between(1, 20)));
        }
}

static void expand(uint8_t *want, const kind *k, const uint8_t *index, int w, int h)
{
    for (int i = 0; i < w * h; i++)
        want_pixel(k, index[i], want + i * 3);
}

/* `n` random pixels, stored one by one. */
static void put_literal(bmp_file *f, int bits, uint8_t *index, int n)
{
    size_t start = f->size + 2;
    put(f, (uint32_t)n << 8, 2);
    for (int i = 0; i < n; i++)
        index[i] = (uint8_t)(help_random() & ((1u << bits) - 1));
    for (int i = 0; i < n; i += bits == 8 ? 1 : 2)
        put(f, bits == 8 ? index[i] : (uint32_t)index[i] << 4 | (i + 1 < n ? index[i + 1] : 0), 1);
    if ((f->size - start) % 2)
        put(f, 0, 1);
}

/* `n` pixels of one value, or of two alternating values with 4 bits. */
static void put_run(bmp_file *f, int bits, uint8_t *index, int n)
{
    uint32_t a = help_random() & ((1u << bits) - 1), b = bits == 8 ? a : help_random() & 15;
    put(f, (uint32_t)n, 1);
    put(f, bits == 8 ? a : a << 4 | b, 1);
    for (int i = 0; i < n; i++)
        index[i] = (uint8_t)(i % 2 ? b : a);
}

/* Rows of random runs and literals, bottom-up. */
static void put_rows(bmp_file *f, int bits, uint8_t *index, int w, int h)
{
    for (int y = h - 1; y >= 0; y--) {
        for (int x = 0, n; x < w; x += n) {
            n = help_between(1, HR_MIN(w - x, 20));
            if (n >= 3 && help_random() % 2)
                put_literal(f, bits, index + y * w + x, n);
            else
                put_run(f, bits, index + y * w + x, n);
        }
        put(f, 0, 2); /* end of line */
    }
    put(f, 0x100, 2); /* end of bitmap */
}

TEST(run_lengths)
{
    static bmp_file f;
    static uint8_t want[64 * 64 * 3], index[64 * 64];
    for (int i = 0; i < 100; i++) {
        kind k = {.bits = i % 2 ? 8 : 4, .compression = i % 2 ? 1 : 2};
        int w = help_between(1, 50), h = help_between(1, 20);
        put_headers(&f, &k, w, h);
        put_rows(&f, k.bits, index, w, h);
        expand(want, &k, index, w, h);
        CHECK(windows_good(&f, want, w, h));
    }
}

TEST(run_lengths_skip)
{
    static bmp_file f;
    uint8_t want[5 * 4 * 3], index[5 * 4] = {0};
    kind k = {.bits = 8, .compression = 1};
    put_headers(&f, &k, 5, 4);
    put(&f, 0x0902, 2); /* two pixels of 9 */
    put(&f, 0x0200, 2); /* move */
    put(&f, 0x0101, 2); /* ... right by 1, up by 1 */
    put(&f, 0x0705, 2); /* a run of 7 that exceeds the row */
    put(&f, 0x0100, 2); /* end: the remaining pixels have index 0 */
    index[3 * 5] = index[3 * 5 + 1] = 9;
    index[2 * 5 + 3] = index[2 * 5 + 4] = 7;
    expand(want, &k, index, 5, 4);
    CHECK(windows_good(&f, want, 5, 4));
}

TEST(channels_of_the_file)
{
    static bmp_file f;
    kind k = {.bits = 16, .compression = 3, .info_size = 56, .masks = {0xF00, 0xF0, 0xF, 0xF000}};
    put_headers(&f, &k, 1, 1);
    put(&f, 0x8421, 4);
    help_result r;
    CHECK(help_decode(&r, f.data, f.size, (hr_window){0}, HR_IMAGE_TYPE_ANY_DATA, HR_DTYPE_UINT8,
                      true));
    CHECK(r.info.channels == 4);
    CHECK(r.data[0] == 68 && r.data[1] == 34 && r.data[2] == 17 && r.data[3] == 136);
    free(r.data);
}

TEST(truncated_files_are_errors)
{
    static bmp_file f;
    kind k = {.bits = 24};
    put_headers(&f, &k, 8, 8);
    for (size_t size = 4; size < f.size + 8 * 24; size += 5) {
        help_result r;
        CHECK(!help_decode(&r, f.data, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8,
                           true));
        CHECK(r.error.status == HR_STATUS_CORRUPT);
    }
}

TEST_MAIN
