/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JPEG 2000 file prepared for a device: its code-blocks, with their bytes. The kernels of
 * cuda/jpeg2000 read these records, so nvcc compiles this header, too. */
#pragma once

#include "codecs/steps.h"
#include "core/shared.h"
#include "headrace/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_JPEG2000_DEVICE_CHANNELS = 4,
    HR_JPEG2000_DEVICE_LANES = 32 /* code-blocks that are decoded side by side */
};

typedef struct hr_jpeg2000_device_block {
    uint32_t from, size; /* bytes in the image's `bytes` */
    uint32_t at, stride; /* its first coefficient, and the elements of a row there */
    uint16_t w, h;
    uint8_t passes, planes; /* planes: bits */
    uint8_t kind, pad;      /* kind: of the band, 0 LL, 1 HL, 2 LH, 3 HH */
    float step;             /* 9/7: what a coefficient of 1 stands for, with its half bit */
} hr_jpeg2000_device_block;

/* A component of a tile: rows of `area`'s size. */
typedef struct hr_jpeg2000_device_part {
    uint32_t at; /* its first element */
    uint32_t x0, y0, x1, y1;
} hr_jpeg2000_device_part;

/* Plain data; pointers are device addresses. */
typedef struct hr_jpeg2000_device_image {
    /* set when the record is copied for the kernels */
    uint8_t *dst; /* u8, interleaved channels */
    uint32_t *status;
    /* set by hr_jpeg2000_device_prepare */
    hr_steps steps;
    const uint8_t *bytes;
    const hr_jpeg2000_device_block *blocks; /* neighbours in this order take similarly long */
    const hr_jpeg2000_device_part *parts;   /* component by component of the first tile, ... */
    uint32_t block_count, part_count, samples, flag_words;
    uint32_t x0, y0, width, height;               /* of the window, on the reference grid */
    uint32_t tile_x0, tile_y0, tile_w, tile_h;    /* of the first tile, without cutting */
    uint32_t across, components;                  /* tiles of the window in a row */
    uint32_t part_w, part_h;                      /* the largest part's size */
    uint32_t levels, reversible, mixed;           /* as in hr_jpeg2000_coding */
    uint32_t channels;                            /* of dst */
    uint8_t channel[HR_JPEG2000_DEVICE_CHANNELS]; /* their components */
} hr_jpeg2000_device_image;

/* Memory in which the kernels decode an image: two planes of all samples, which are floats with the
 * 9/7 wavelet, then flag_words of 16 bits for each block, those of LANES blocks interleaved. */
HR_SHARED size_t hr_jpeg2000_device_plane(const hr_jpeg2000_device_image *image)
{
    return ((size_t)image->samples * sizeof(int32_t) + 255) / 256 * 256;
}

HR_SHARED size_t hr_jpeg2000_device_memory(const hr_jpeg2000_device_image *image)
{
    size_t blocks = (image->block_count + HR_JPEG2000_DEVICE_LANES - (size_t)1) /
                    HR_JPEG2000_DEVICE_LANES * HR_JPEG2000_DEVICE_LANES;
    return 2 * hr_jpeg2000_device_plane(image) + blocks * image->flag_words * sizeof(uint16_t);
}

struct hr_coded;
struct hr_arena;
struct hr_codec_request;
struct hr_jpeg2000;

/* Stages the code-blocks of the tiles that the request's window needs. HR_STATUS_NOT_FUSABLE: the
 * device does not decode such files, or the file is damaged. `arena`: for what is not needed
 * afterwards. Any thread. */
hr_status hr_jpeg2000_device_prepare(const struct hr_jpeg2000 *file,
                                     const struct hr_codec_request *request, hr_staging *staging,
                                     struct hr_arena *arena, struct hr_arena *lasting,
                                     struct hr_coded *out, hr_error *error);

#ifdef __cplusplus
}
#endif
