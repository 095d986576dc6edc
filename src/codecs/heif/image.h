/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The image of a HEIF file, from its items: size, colours and orientation, and the planes that the
 * video module decodes. */
#pragma once

#include "codecs/heif/items.h"
#include "codecs/video/module.h"
#include "headrace/operator.h"

/* An image that is coded as one picture, or as a grid of them. */
typedef struct hr_heif_picture {
    const hr_heif_item *item;
    uint32_t width, height;
    uint32_t bits;          /* of luma */
    bool grey;              /* has no chroma */
    uint32_t columns, rows; /* of a grid; 0: one picture */
    hr_heif_list tiles;     /* of a grid */
} hr_heif_picture;

typedef struct hr_heif_colours {
    int32_t matrix; /* of ISO/IEC 23091-2; -1: the file does not say */
    bool full_range;
} hr_heif_colours;

typedef struct hr_heif_image {
    hr_heif_picture main, alpha; /* alpha.item is NULL if there is none */
    hr_heif_colours colours;
    uint32_t x, y, width, height; /* the part that is shown */
    int32_t orientation;          /* as that of EXIF */
    int32_t others;               /* images of the file that are neither shown nor parts of it */
} hr_heif_image;

hr_status hr_heif_describe(const hr_heif *h, hr_heif_image *out, hr_error *error);

/* Decoded planes: those of a decoder, or put together from a grid. */
typedef struct hr_heif_planes {
    const hr_video_module_def *module; /* set before decoding; the rest is zero */
    hr_video_picture picture;
    /* of the decoder: */
    void *decoder;
    const hr_heif_item *open_for; /* whose configuration it was opened with */
    size_t counted;               /* bytes of memory, in the arena */
} hr_heif_planes;

/* Decodes what the rows and columns of `window` need. `planes` is freed with hr_heif_planes_fini,
 * also after a failure. */
hr_status hr_heif_decode(const hr_heif *h, const hr_heif_picture *p, const hr_window *window,
                         hr_op_call *c, hr_heif_planes *planes, hr_error *error);
void hr_heif_planes_fini(hr_heif_planes *planes, hr_arena *arena);
