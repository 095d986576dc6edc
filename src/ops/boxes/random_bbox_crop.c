/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random_bbox_crop: a random window of an image that contains enough of its boxes. */
#include "ops/boxes/bbox_crop.h"

#include <string.h>

typedef struct random_bbox_crop_args {
    hr_bbox_crop_args crop;
} random_bbox_crop_args;

#define ARG(field, TYPE, flag, deflt, ...)                                                         \
    {                                                                                              \
        .name = #field, .type = HR_ARG_TYPE_##TYPE, .flags = (flag),                               \
        .offset = offsetof(random_bbox_crop_args, crop.field),                                     \
        .size = sizeof(((random_bbox_crop_args *)0)->crop.field), .def = (deflt),                  \
        .doc = __VA_ARGS__                                                                         \
    }

static hr_status random_bbox_crop_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_bbox_crop_args *a = &((const random_bbox_crop_args *)args)->crop;

    if (hr_arg_given(given, "crop_shape")) {
        if (!hr_arg_given(given, "input_shape"))
            return hr_fail(error, HR_STATUS_ERROR, "`crop_shape` needs `input_shape`");
        if (hr_arg_given(given, "scaling") || hr_arg_given(given, "aspect_ratio"))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`scaling` and `aspect_ratio` cannot be given with `crop_shape`");
    }
    if (hr_arg_given(given, "ltrb") && hr_arg_given(given, "bbox_layout"))
        return hr_fail(error, HR_STATUS_ERROR, "give only one of `ltrb` and `bbox_layout`");
    if (hr_arg_given(given, "total_num_attempts") && a->total_num_attempts <= 0)
        return hr_fail(error, HR_STATUS_ERROR, "`total_num_attempts` must be greater than 0");
    return hr__bbox_crop_check(a, error);
}

static hr_status random_bbox_crop_infer(hr_op_call *c, hr_error *error)
{
    const hr_bbox_crop_args *a = &((const random_bbox_crop_args *)c->args)->crop;
    hr_bbox_crop *crop = hr_arena_alloc(c->arena, sizeof(*crop), error);
    int32_t next = 3;

    HR_TRY_ALLOC(crop);
    HR_TRY(hr__boxes_rows(c, 0, 4, 6, error));
    const int64_t n = c->in[0].shape.extent[0], numbers = c->in[0].shape.extent[1];
    if (c->n_in > 1)
        HR_TRY(hr__boxes_labels(c, 1, n, error));
    HR_TRY(hr__bbox_crop_draw(a, c, 0, crop, error));
    const int64_t dims = numbers / 2, boxes[2] = {crop->count, numbers};
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, hr_shape_make(1, &dims), NULL);
    hr_tensor_describe(&c->out[1], HR_DTYPE_FLOAT, hr_shape_make(1, &dims), NULL);
    hr_tensor_describe(&c->out[2], HR_DTYPE_FLOAT, hr_shape_make(2, boxes), NULL);
    if (c->n_in > 1) {
        hr_shape shape = c->in[1].shape;
        shape.extent[0] = crop->count;
        hr_tensor_describe(&c->out[next++], HR_DTYPE_INT32, shape, NULL);
    }
    if (a->output_bbox_indices)
        hr_tensor_describe(&c->out[next], HR_DTYPE_INT32, hr_shape_make(1, boxes), NULL);
    c->memo = crop;
    return HR_STATUS_OK;
}

static hr_status random_bbox_crop_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_bbox_crop *crop = c->memo;
    const size_t dims = (size_t)crop->dims;
    int32_t next = 3;
    memcpy(c->out[0].data, crop->anchor, dims * sizeof(float));
    memcpy(c->out[1].data, crop->shape, dims * sizeof(float));
    memcpy(c->out[2].data, crop->boxes, (size_t)crop->count * 2 * dims * sizeof(float));
    if (c->n_in > 1)
        hr__bbox_crop_labels(crop, &c->in[1], c->out[next++].data);
    if (next < c->n_out)
        memcpy(c->out[next].data, crop->index, (size_t)crop->count * sizeof(int32_t));
    return HR_STATUS_OK;
}

static int32_t random_bbox_crop_outputs(const void *args, int32_t n_in)
{
    return 2 + n_in + (((const random_bbox_crop_args *)args)->crop.output_bbox_indices != 0);
}

const hr_op_def hr_op_random_bbox_crop = {
    HR_OP("random_bbox_crop"),
    .doc = "Draws a window of an image that contains enough of its boxes. Returns the start and "
           "the size of the window, for `slice`, and the boxes that are kept, clipped and relative "
           "to the window. With a second input, it also returns the labels of these boxes, and "
           "with `output_bbox_indices` their indices.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP,
    HR_ARGS(
        random_bbox_crop_args,
        ARG(all_boxes_above_threshold, BOOL, 0, "True",
            "True: every box must reach the threshold. False: one box is enough."),
        ARG(allow_no_crop, BOOL, 0, "True",
            "The whole image is one more choice among the thresholds. Has no effect with "
            "`crop_shape`."),
        ARG(aspect_ratio, FLOATS, 0, "[1.0, 1.0]",
            "Least and greatest ratio of width to height. With three dimensions, six numbers are "
            "possible: for width to height, width to depth and height to depth. Ratios are in "
            "pixels if `input_shape` is given, otherwise relative to the ratio of the image. If "
            "least and greatest ratio are equal, the longer side determines the other one."),
        ARG(bbox_layout, LAYOUT, HR_ARG_OPTIONAL, NULL,
            "Meaning of the numbers of a box, in any order: xyXY (start and end, the default) or "
            "xyWH (start and size). With three dimensions: xyzXYZ or xyzWHD."),
        ARG(bbox_prune_threshold, FLOAT, HR_ARG_OPTIONAL, NULL,
            "A box is kept if at least this fraction of its area is in the window. Default: a box "
            "is kept if its centre is in the window.",
            .min = 0, .max = 1),
        ARG(crop_shape, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
            "Size of the window in pixels, in the order of `shape_layout`. Requires `input_shape`; "
            "excludes `scaling` and `aspect_ratio`."),
        ARG(input_shape, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
            "Size of the image in pixels, in the order of `shape_layout`."),
        ARG(ltrb, BOOL, 0, "True", "Old form of `bbox_layout`: True is xyXY, False is xyWH."),
        ARG(num_attempts, INT, 0, "1",
            "Number of windows to try with a threshold before another threshold is drawn."),
        ARG(output_bbox_indices, BOOL, 0, "False",
            "Also return the indices of the boxes that were kept."),
        HR_ARG_ACCEPT(quiet, BOOL, "False",
                      "Has no effect: no warning is given when no window reached the threshold."),
        ARG(scaling, FLOATS, 0, "[1.0, 1.0]",
            "Least and greatest size of a side of the window, relative to the image."),
        ARG(shape_layout, LAYOUT, HR_ARG_OPTIONAL, NULL,
            "Order of `crop_shape` and `input_shape`. Default: \"WH\" or \"WHD\"."),
        ARG(threshold_type, STRING, 0, "\"iou\"",
            "What the thresholds apply to. \"iou\": the intersection over union of window and box. "
            "\"overlap\": the fraction of the box's area that is in the window.",
            .choices = "iou|overlap"),
        ARG(thresholds, FLOATS, 0, "[0.0]", "Thresholds. One of them is drawn for each sample."),
        ARG(total_num_attempts, INT, HR_ARG_OPTIONAL, "-1",
            "Number of windows to try in total; after that, the best one is taken. Default: "
            "windows are tried until one is accepted, or until it is clear that none will be.")),
    .in = HR_INPUTS({.name = "boxes"}, {.name = "labels"}),
    .in_min = 1,
    .out = HR_OUTPUTS({"anchor"}, {"shape"}, {"boxes"}, {"labels"}, {"indices"}),
    .outputs = random_bbox_crop_outputs,
    .check = random_bbox_crop_check,
    .infer = random_bbox_crop_infer,
    .run = random_bbox_crop_run,
};
