/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Compares our own JPEG decoder with libjpeg-turbo. It must accept the files: those that it leaves
 * to libjpeg-turbo would prove nothing. */
#pragma once

#include "jpeg_files.h"

#include "codecs/jpeg/decoder.h"

typedef struct own {
    uint8_t *data;
    bool done;
} own;

/* Decodes the window with our decoder alone, some rows at a time, into memory of exactly its size.
 */
static inline own decode_own(const uint8_t *bytes, size_t size, hr_window w, int channels,
                             const hr_kernels *kernels)
{
    own r = {.data = malloc((size_t)(w.h * w.w * channels))};
    hr_arena *arena;
    hr_error error;
    hr_image_info info;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return r;
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {
        .window = w, .channels = channels, .dst = r.data, .stride = (size_t)(w.w * channels)};
    hr_jpeg_reader *reader;
    r.done = hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
             hr_jpeg_open(bytes, size, &info, &q, NULL, &c, &reader, &error) == HR_STATUS_OK;
    for (int64_t y = 0, rows; y < w.h && r.done; y += rows) {
        rows = 1 + (int64_t)(help_random() % 20);
        rows = HR_MIN(rows, w.h - y);
        r.done = hr_jpeg_read(reader, r.data + (size_t)y * q.stride, q.stride, (int32_t)rows,
                              &error) == HR_STATUS_OK;
    }
    hr_arena_destroy(arena);
    return r;
}

static inline const hr_kernels *some_level(void)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    return hr_kernels_get(levels[help_random() % 3]);
}

static inline bool same(const own *r, const uint8_t *want, int full_w, hr_window w, int channels)
{
    help_result v = {.data = r->data, .h = w.h, .w = w.w, .stride = (size_t)(w.w * channels)};
    return r->done && help_equal(&v, want, full_w, w, (size_t)channels);
}

/* Compares the whole image and `windows` windows of it. */
static inline bool matches(const uint8_t *file, size_t size, int height, int width, int channels,
                           int windows)
{
    uint8_t *want = help_bare_jpeg(file, size, channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    bool good = true;
    for (int i = 0; i <= windows && good; i++) {
        hr_window w = i == 0 ? (hr_window){0, 0, height, width} : help_window(height, width);
        own r = decode_own(file, size, w, channels, some_level());
        good = same(&r, want, width, w, channels);
        if (!good)
            printf("window %d,%d %dx%d, taken: %d\n", (int)w.x, (int)w.y, (int)w.w, (int)w.h,
                   r.done);
        free(r.data);
    }
    free(want);
    return good;
}
