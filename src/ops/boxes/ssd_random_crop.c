/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ssd_random_crop: the crop of the SSD detector, as one operator on images, boxes and labels. */
#include "ops/boxes/bbox_crop.h"

#include <math.h>
#include <string.h>

typedef struct ssd_random_crop_args {
    int32_t num_attempts;
} ssd_random_crop_args;

/* What infer computes: the window in pixels, and the boxes in it. */
typedef struct ssd_crop {
    hr_bbox_crop crop;
    hr_window window;
} ssd_crop;

/* The part of an axis with `extent` pixels, of which both ends are rounded. */
static void pixels(const hr_bbox_crop *crop, int32_t d, int64_t extent, int64_t *start,
                   int64_t *size)
{
    const double n = (double)extent, low = (double)crop->low[d], whole = (double)crop->size[d];

    *start = (int64_t)hr_round(low * n);
    *size = (int64_t)hr_round((low + whole) * n) - *start;
}

static hr_status ssd_random_crop_infer(hr_op_call *c, hr_error *error)
{
    static const float thresholds[] = {0.0f, 0.1f, 0.3f, 0.5f, 0.7f, 0.9f},
                       scaling[] = {0.3f, 1.0f}, ratio[] = {0.5f, 2.0f};
    const hr_bbox_crop_args a = {
        .all_boxes_above_threshold = 1,
        .allow_no_crop = 1,
        .ltrb = 1,
        .num_attempts = HR_MAX(((const ssd_random_crop_args *)c->args)->num_attempts, 1),
        .aspect_ratio = {ratio, 2, 0},
        .scaling = {scaling, 2, 0},
        .thresholds = {thresholds, HR_COUNT_OF(thresholds), 0},
        .bbox_prune_threshold = NAN,
    };
    ssd_crop *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    char text[128];

    HR_TRY_ALLOC(m);
    if (c->in[0].dtype != HR_DTYPE_UINT8 || (c->in[0].shape.ndim != 3 && c->in[0].shape.ndim != 2))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the image has type %s and shape %s; it must be UINT8 with the layout HWC "
                       "or HW",
                       hr_dtype_name(c->in[0].dtype),
                       hr_shape_text(&c->in[0].shape, text, sizeof(text)));
    HR_TRY(hr__boxes_rows(c, 1, 4, 4, error));
    HR_TRY(hr__boxes_labels(c, 2, c->in[1].shape.extent[0], error));
    HR_TRY(hr__bbox_crop_draw(&a, c, 1, &m->crop, error));
    hr_shape shape = c->in[0].shape, labels = c->in[2].shape;
    pixels(&m->crop, 0, shape.extent[1], &m->window.x, &m->window.w);
    pixels(&m->crop, 1, shape.extent[0], &m->window.y, &m->window.h);
    const int64_t boxes[2] = {m->crop.count, 4};
    shape.extent[0] = m->window.h;
    shape.extent[1] = m->window.w;
    labels.extent[0] = m->crop.count;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, shape, c->in[0].layout.name);
    hr_tensor_describe(&c->out[1], HR_DTYPE_FLOAT, hr_shape_make(2, boxes), NULL);
    hr_tensor_describe(&c->out[2], HR_DTYPE_INT32, labels, NULL);
    c->memo = m;
    return HR_STATUS_OK;
}

static hr_status ssd_random_crop_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const ssd_crop *m = c->memo;
    const hr_shape *shape = &c->in[0].shape;
    const size_t channels = shape->ndim == 3 ? (size_t)shape->extent[2] : 1,
                 row = (size_t)m->window.w * channels, stride = (size_t)shape->extent[1] * channels;
    const uint8_t *from = (const uint8_t *)c->in[0].data + (size_t)m->window.y * stride +
                          (size_t)m->window.x * channels;
    for (int64_t y = 0; y < m->window.h; y++)
        memcpy((uint8_t *)c->out[0].data + (size_t)y * row, from + (size_t)y * stride, row);
    memcpy(c->out[1].data, m->crop.boxes, (size_t)m->crop.count * 4 * sizeof(float));
    hr__bbox_crop_labels(&m->crop, &c->in[2], c->out[2].data);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_ssd_random_crop = {
    HR_OP("ssd_random_crop"),
    .doc = "Crops an image as the SSD detector does. The window has sides of 0.3 to 1.0 and a "
           "ratio of 0.5 to 2.0 relative to the image. Its intersection over union with every box "
           "must reach a threshold that is drawn from 0, 0.1, 0.3, 0.5, 0.7 and 0.9; a further "
           "choice is the whole image. Returns the window, and the boxes (left, top, right, "
           "bottom) in it with their labels. Use `random_bbox_crop` and `slice` instead.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_DEPRECATED,
    HR_ARGS(ssd_random_crop_args, HR_ARG(ssd_random_crop_args, num_attempts, INT, 0, "1",
                                         "Number of windows to try with a threshold before another "
                                         "threshold is drawn. Values below 1 count as 1.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}, {.name = "boxes"}, {.name = "labels"}),
    .out = HR_OUTPUTS({"output"}, {"boxes"}, {"labels"}),
    .infer = ssd_random_crop_infer,
    .run = ssd_random_crop_run,
};
