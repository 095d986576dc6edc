/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A TIFF file prepared for a device: its LZW blocks, and where their pixels go. The kernels of
 * cuda/tiff read these records, so nvcc compiles this header, too. */
#pragma once

#include "codecs/steps.h"
#include "core/shared.h"
#include "headrace/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_TIFF_DEVICE_SAMPLES = 4, /* of a pixel, at most: they fit into a word */
    HR_TIFF_DEVICE_PAD = 8      /* bytes after those of a block that may be read */
};

/* A strip or tile. */
typedef struct hr_tiff_device_block {
    uint32_t word, size; /* where its bytes begin in the image's `words`; how many they are */
} hr_tiff_device_block;

/* Plain data; pointers are device addresses. */
typedef struct hr_tiff_device_image {
    /* set when the record is copied for the kernels */
    uint8_t *dst;      /* u8, interleaved channels */
    uint8_t *unpacked; /* the rows of each block, slot_size bytes apart */
    uint32_t *status;  /* 0; the kernels write 1 if a block is damaged */
    /* set by hr_tiff_device_prepare */
    hr_steps steps;
    const uint32_t *words;              /* the bytes of the file's blocks, each 4-byte aligned */
    const hr_tiff_device_block *blocks; /* that the window needs, row by row */
    uint32_t count, across;             /* of all, and in a row */
    uint32_t row_size, slot_size, slot_rows;
    int32_t block_w, block_h, left, top;    /* left, top: of the first block, in the window */
    int32_t width, height;                  /* of the window */
    int32_t samples, channels, differences; /* differences: of neighbours, along rows */
} hr_tiff_device_image;

/* Rows of a block that the window needs, from the block's first one on. */
HR_SHARED uint32_t hr_tiff_device_rows(const hr_tiff_device_image *image, uint32_t block)
{
    int64_t top = image->top + (int64_t)(block / image->across) * image->block_h;
    int64_t rows = image->height - top;
    return (uint32_t)(rows < image->block_h ? rows : image->block_h);
}

struct hr_arena;
struct hr_coded;
struct hr_codec_request;
struct hr_tiff;

/* Stages the blocks that the request's window needs. HR_STATUS_NOT_FUSABLE: the device does not
 * decode such files, or blocks are not in the file. Any thread. */
hr_status hr_tiff_device_prepare(const struct hr_tiff *t, const struct hr_codec_request *request,
                                 hr_staging *staging, struct hr_arena *lasting,
                                 struct hr_coded *out, hr_error *error);

#ifdef __cplusplus
}
#endif
