/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Planes of luma and chroma to pixels of 8 or 16 bits. */
#pragma once

#include "codecs/heif/image.h"

/* How a picture becomes pixels of `bits`, 8 or 16. */
typedef struct hr_heif_pixels {
    const hr_video_picture *picture;
    uint32_t bits, channels; /* of an output pixel */
    float black, luma;       /* luma of black; the scale from there to white */
    float middle, chroma;
    float of[3][2];          /* of red, green and blue: how much of both planes of chroma */
    bool planes_are_colours; /* not luma and chroma: */
    uint8_t plane[3];        /* where red, green and blue are */
    float *chroma_row[2];    /* scratch for a row of a window */
} hr_heif_pixels;

/* `width`: columns of the widest window. */
hr_status hr_heif_pixels_init(hr_heif_pixels *x, const hr_video_picture *picture,
                              const hr_heif_colours *colours, uint32_t bits, uint32_t channels,
                              size_t width, hr_arena *arena, hr_error *error);
/* Colours of pixels x .. x + width of row y. With 2 or 4 channels, the last is left as it is. */
void hr_heif_pixels_put(const hr_heif_pixels *p, int32_t x, int32_t y, size_t width, void *dst);
/* Writes the luma of `picture` as the last channel. */
void hr_heif_alpha_put(const hr_heif_pixels *p, int32_t x, int32_t y, size_t width, void *dst);
