/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The search for a random window that contains enough of the boxes of an image. */
#pragma once

#include "ops/boxes/boxes.h"

#define HR_BBOX_DIMS 3

/* The arguments of random_bbox_crop. */
typedef struct hr_bbox_crop_args {
    int32_t all_boxes_above_threshold, allow_no_crop, ltrb, num_attempts, output_bbox_indices,
        total_num_attempts;
    hr_floats aspect_ratio, scaling, thresholds;
    float bbox_prune_threshold; /* NaN: boxes are kept by their centre */
    hr_ints crop_shape, input_shape;
    const char *bbox_layout, *shape_layout, *threshold_type;
} hr_bbox_crop_args;

/* A window, and the boxes in it. */
typedef struct hr_bbox_crop {
    int32_t dims;
    bool whole;                                      /* not cropped */
    float low[HR_BBOX_DIMS], size[HR_BBOX_DIMS];     /* relative to the image */
    float anchor[HR_BBOX_DIMS], shape[HR_BBOX_DIMS]; /* the same, or pixels */
    int64_t count;
    float *boxes; /* in the layout of the input */
    int32_t *index;
} hr_bbox_crop;

/* Checks the arguments together. */
hr_status hr__bbox_crop_check(const hr_bbox_crop_args *a, hr_error *error);
/* Draws a window for the boxes of input `i` with the call's generator. Memory from the arena. */
hr_status hr__bbox_crop_draw(const hr_bbox_crop_args *a, const hr_op_call *c, int32_t i,
                             hr_bbox_crop *crop, hr_error *error);
/* Copies the labels of the boxes that were kept. */
void hr__bbox_crop_labels(const hr_bbox_crop *crop, const hr_tensor *labels, int32_t *out);
