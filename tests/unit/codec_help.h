/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the tests of codecs: files made in memory, decoding with headrace and with the original
 * library, and a random generator. */
#pragma once

#include "codecs/codec.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#define MAX_PIXELS ((int64_t)1 << 24)

static uint32_t help_state = 12345;

static inline uint32_t help_random(void)
{
    help_state ^= help_state << 13;
    help_state ^= help_state >> 17;
    help_state ^= help_state << 5;
    return help_state;
}

static inline int help_between(int low, int high)
{
    return low + (int)(help_random() % (uint32_t)(high - low + 1));
}

/* Smooth shapes with noise on top, so that chroma varies and every coefficient occurs. */
static inline void help_paint(uint8_t *pixels, int w, int h, int channels)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < channels; c++) {
                int v = (x * (7 + 5 * c) + y * (11 - 3 * c)) % 509 + (int)(help_random() % 41);
                pixels[(y * w + x) * channels + c] = (uint8_t)(v > 255 ? 509 - v : v);
            }
}

/* The parameters of a JPEG file. */
typedef struct help_jpeg {
    int w, h, channels, quality;
    int sampling[2]; /* horizontal, vertical of the first component */
    int chroma[2];   /* ... of the second and third; 0: 1 */
    bool progressive, arithmetic, interleave_off, rgb;
    int restart; /* MCUs between restart markers; 0: no markers */
} help_jpeg;

static inline uint8_t *help_encode_jpeg(const help_jpeg *j, const uint8_t *pixels, size_t *size)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long out_size = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &out, &out_size);
    cinfo.image_width = (JDIMENSION)j->w;
    cinfo.image_height = (JDIMENSION)j->h;
    cinfo.input_components = j->channels;
    cinfo.in_color_space = j->channels == 1 ? JCS_GRAYSCALE : j->channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&cinfo);
    if (j->rgb)
        jpeg_set_colorspace(&cinfo, JCS_RGB);
    if (j->channels == 4 && j->sampling[0] > 1)
        jpeg_set_colorspace(&cinfo, JCS_YCCK);
    jpeg_set_quality(&cinfo, j->quality, TRUE);
    for (int i = 0; i < cinfo.num_components; i++) {
        bool full = i == 0 || i == 3;
        cinfo.comp_info[i].h_samp_factor = full ? j->sampling[0] : HR_MAX(j->chroma[0], 1);
        cinfo.comp_info[i].v_samp_factor = full ? j->sampling[1] : HR_MAX(j->chroma[1], 1);
    }
    cinfo.restart_interval = (unsigned)j->restart;
    cinfo.arith_code = j->arithmetic ? TRUE : FALSE;
    if (j->progressive)
        jpeg_simple_progression(&cinfo);
    static const jpeg_scan_info separate[3] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    if (j->interleave_off && j->channels == 3) {
        cinfo.scan_info = separate;
        cinfo.num_scans = 3;
    }
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < cinfo.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)cinfo.next_scanline *
                                                          (size_t)(j->w * j->channels));
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    *size = out_size;
    return out;
}

/* Decodes the whole image with libjpeg alone, as JCS_RGB, JCS_GRAYSCALE or JCS_CMYK. */
static inline uint8_t *help_bare_jpeg(const uint8_t *bytes, size_t size, J_COLOR_SPACE space)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes, size);
    jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = space;
    jpeg_start_decompress(&cinfo);
    size_t stride = (size_t)cinfo.output_width * (size_t)cinfo.output_components;
    uint8_t *out = malloc(stride * cinfo.output_height);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW row = out + cinfo.output_scanline * stride;
        jpeg_read_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return out;
}

/* Probes and decodes a window (h 0: the whole image) into malloc'ed memory with 16 guard bytes
 * after every row. NULL on failure. */
#define HELP_GUARD 16
typedef struct help_result {
    hr_image_info info;
    int64_t h, w;
    size_t stride;
    uint8_t *data;
    bool guard_ok;
    hr_error error;
} help_result;

static inline bool help_decode(help_result *r, const uint8_t *bytes, size_t size, hr_window window,
                               hr_image_type type, hr_dtype dtype, bool adjust)
{
    memset(r, 0, sizeof *r);
    hr_arena *arena;
    if (hr_arena_create(&arena, &r->error) != HR_STATUS_OK)
        return false;
    hr_op_call call = {.arena = arena};
    hr_status status = hr_image_probe(bytes, size, MAX_PIXELS, &r->info, &r->error);
    if (status == HR_STATUS_OK) {
        if (window.h == 0)
            hr_image_extent(&r->info, adjust, &window.h, &window.w);
        size_t row = (size_t)window.w * (size_t)hr_image_type_channels(&r->info, type) *
                     hr_dtype_size(dtype);
        r->h = window.h;
        r->w = window.w;
        r->stride = row + HELP_GUARD;
        r->data = malloc(r->stride * (size_t)window.h);
        memset(r->data, 0xA5, r->stride * (size_t)window.h);
        hr_decode_request q = {.window = window,
                               .type = type,
                               .dtype = dtype,
                               .adjust_orientation = adjust,
                               .dst = r->data,
                               .stride = r->stride};
        status = hr_image_decode(bytes, size, &r->info, &q, &call, &r->error);
        r->guard_ok = true;
        for (int64_t y = 0; y < window.h; y++)
            for (size_t i = 0; i < HELP_GUARD; i++)
                r->guard_ok = r->guard_ok && r->data[(size_t)y * r->stride + row + i] == 0xA5;
    }
    hr_arena_destroy(arena);
    if (status != HR_STATUS_OK) {
        free(r->data);
        r->data = NULL;
    }
    return status == HR_STATUS_OK && r->guard_ok;
}

/* The stored pixel that is seen at y, x of the turned image, by the definition in EXIF ("the 0th
 * row is the visual <row>, the 0th column the visual <column>"), case by case. h x w: the stored
 * image. */
static inline int help_turned(int h, int w, int orientation, int y, int x)
{
    int sy = y, sx = x;
    switch (orientation) {
    case 2: /* top, right */
        sx = w - 1 - x;
        break;
    case 3: /* bottom, right */
        sy = h - 1 - y;
        sx = w - 1 - x;
        break;
    case 4: /* bottom, left */
        sy = h - 1 - y;
        break;
    case 5: /* left, top */
        sy = x;
        sx = y;
        break;
    case 6: /* right, top */
        sy = h - 1 - x;
        sx = y;
        break;
    case 7: /* right, bottom */
        sy = h - 1 - x;
        sx = w - 1 - y;
        break;
    case 8: /* left, bottom */
        sy = x;
        sx = w - 1 - y;
        break;
    default:
        break;
    }
    return sy * w + sx;
}

/* Whether the result equals the window of a reference image with `full_w` pixels per row and
 * `pixel` bytes per pixel. */
static inline bool help_equal(const help_result *r, const uint8_t *reference, int full_w,
                              hr_window w, size_t pixel)
{
    for (int64_t y = 0; y < r->h; y++) {
        const uint8_t *want =
            reference + ((size_t)(w.y + y) * (size_t)full_w + (size_t)w.x) * pixel;
        if (memcmp(r->data + (size_t)y * r->stride, want, (size_t)r->w * pixel) != 0)
            return false;
    }
    return true;
}

static inline hr_window help_window(int h, int w)
{
    hr_window window = {.h = help_between(1, h), .w = help_between(1, w)};
    window.y = help_between(0, h - (int)window.h);
    window.x = help_between(0, w - (int)window.w);
    return window;
}
