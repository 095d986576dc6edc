/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The images that _torchvision.augment changes, and the operations on them. They compute what
 * Pillow computes, with its rounding. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"
#include "ops/torchvision/rows.h"

enum { HR_AUGMENT_PARAMS = 16 };

/* An image in the arena, HWC, of 1 or 3 channels. `spare` is as large as `data`: operations that
 * read neighbours write there, then swap the two. */
typedef struct hr_image {
    uint8_t *data, *spare;
    int64_t h, w;
    int32_t c;
    const hr_op_call *call;
    hr_box_rows *rows; /* boxes that move with an image, which then has no data; or NULL */
} hr_image;

/* What becomes of an image. Without data, only of its size. */
typedef hr_status (*hr_augment_fn)(hr_image *p, const double *param, hr_error *error);

typedef struct hr_augment_op {
    const char *name;
    int32_t params;
    bool resizes; /* it may change the size: it is also called without data */
    bool moves;   /* it moves pixels, and so masks and boxes */
    hr_augment_fn run;
} hr_augment_op;

/* Of each file; the last one has no name. */
extern const hr_augment_op hr__augment_colours[], hr__augment_warps[];

/* Makes room for an image of another size; the pixels are lost. */
hr_status hr__image_resize(hr_image *p, int64_t h, int64_t w, int32_t c, hr_error *error);

/* NaN gives the lower limit. */
static inline double hr__between(double v, double low, double high)
{
    return v > low ? HR_MIN(v, high) : low;
}

static inline void hr__image_swap(hr_image *p)
{
    uint8_t *data = p->data;
    p->data = p->spare;
    p->spare = data;
}
