/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzzes one codec. The first eight bytes choose output type, element type, orientation, page and
 * window; the rest is the file. The output memory is exactly as large as the window needs. Where
 * the codec has a decoder on devices, the file is prepared for it, too. */
#pragma once

#include "codecs/codec.h"
#include "image/coded.h"

#include <stdlib.h>
#include <string.h>

#ifndef FUZZ_MAX_PIXELS /* a target of a slow codec has a smaller number */
#define FUZZ_MAX_PIXELS (1 << 18)
#endif

enum { FUZZ_PREFIX = 8, FUZZ_CHECKED_PIXELS = 1 << 28, FUZZ_PAGES = 8 };

/* A range of an axis of `n` pixels, from two bytes. */
static inline void fuzz_axis(int64_t n, uint8_t a, uint8_t b, int64_t *start, int64_t *count)
{
    *start = n * a / 256;
    *count = 1 + (n - *start - 1) * b / 255;
}

typedef struct fuzz_staged {
    hr_staging staging; /* must be first */
    void *memory[8];
    int count;
} fuzz_staged;

static inline hr_status fuzz_alloc(hr_staging *staging, size_t size, hr_staged *out,
                                   hr_error *error)
{
    fuzz_staged *s = (fuzz_staged *)(void *)staging;
    if (s->count == 8)
        abort(); /* more than a file should need */
    if (!(out->host = out->device = malloc(size ? size : 1)))
        return hr_fail_memory(error, size);
    s->memory[s->count++] = out->host;
    return HR_STATUS_OK;
}

/* What is staged is as large as was asked for, so that a sanitizer sees what is written beyond. */
static inline void fuzz_stage(const uint8_t *file, size_t size, const hr_image_info *info,
                              const hr_decode_request *q, hr_op_call *c)
{
    fuzz_staged s = {.staging = {.alloc = fuzz_alloc}};
    hr_error error;
    hr_coded coded;
    hr_status status = hr_image_stage(file, size, info, q, c, &s.staging, c->arena, &coded, &error);
    if (status == HR_STATUS_OK && (!coded.decoder || !coded.record))
        abort();
    for (int i = 0; i < s.count; i++)
        free(s.memory[i]);
}

static inline void fuzz_decode(const uint8_t *prefix, const uint8_t *file, size_t size,
                               const hr_image_info *info)
{
    static const hr_dtype dtypes[] = {HR_DTYPE_UINT8, HR_DTYPE_INT8,  HR_DTYPE_UINT16,
                                      HR_DTYPE_INT16, HR_DTYPE_INT32, HR_DTYPE_FLOAT};
    hr_decode_request q = {.type = (hr_image_type)(prefix[0] % HR_IMAGE_TYPE_COUNT),
                           .dtype = dtypes[prefix[1] % HR_COUNT_OF(dtypes)],
                           .adjust_orientation = prefix[2] & 1};
    int64_t height, width;
    hr_error error;
    hr_arena *arena;
    hr_image_extent(info, q.adjust_orientation, &height, &width);
    fuzz_axis(height, prefix[4], prefix[5], &q.window.y, &q.window.h);
    fuzz_axis(width, prefix[6], prefix[7], &q.window.x, &q.window.w);
    q.stride =
        (size_t)q.window.w * (size_t)hr_image_type_channels(info, q.type) * hr_dtype_size(q.dtype);
    q.dst = malloc(q.stride * (size_t)q.window.h);
    if (q.dst && hr_arena_create(&arena, &error) == HR_STATUS_OK) {
        hr_op_call c = {.arena = arena};
        hr_status status = hr_image_decode(file, size, info, &q, &c, &error);
        if (status != HR_STATUS_OK && (error.status != status || error.message[0] == 0))
            abort(); /* a failure without a message */
        fuzz_stage(file, size, info, &q, &c);
        hr_arena_destroy(arena);
    }
    free(q.dst);
}

static inline int fuzz_codec(const char *name, const uint8_t *data, size_t size)
{
    hr_image_info info;
    hr_error error;
    if (size < FUZZ_PREFIX)
        return 0;
    const uint8_t *file = data + FUZZ_PREFIX;
    size -= FUZZ_PREFIX;
    /* for large images, only checks whether the file is large enough for them */
    if (hr_image_probe(file, size, FUZZ_CHECKED_PIXELS, &info, &error) != HR_STATUS_OK)
        return 0;
    int32_t page = info.codec->paged ? data[3] % HR_MIN(info.pages, FUZZ_PAGES) : 0;
    if (hr_image_probe_page(file, size, page, FUZZ_CHECKED_PIXELS, &info, &error) == HR_STATUS_OK &&
        (int64_t)info.height * info.width <= FUZZ_MAX_PIXELS && strcmp(info.codec->name, name) == 0)
        fuzz_decode(data, file, size, &info);
    return 0;
}
