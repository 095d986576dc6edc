/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* bbox_paste: where boxes are after their image was pasted on a larger canvas. */
#include "ops/boxes/boxes.h"

typedef struct bbox_paste_args {
    float ratio, paste_x, paste_y;
    int32_t ltrb;
} bbox_paste_args;

/* Distance of the image from the edge of the canvas; not beyond the free space, as in DALI. */
static float shift_of(float paste, float ratio)
{
    const float margin = (ratio - 1.0f) / ratio;

    return HR_MIN(paste * margin, margin);
}

static hr_status bbox_paste_infer(hr_op_call *c, hr_error *error)
{
    const bbox_paste_args *a = c->args;
    hr_bbox_paste *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    int64_t count;

    HR_TRY_ALLOC(memo);
    HR_TRY(hr__boxes_flat(c, 0, &count, error));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, c->in[0].layout.name);
    *memo =
        (hr_bbox_paste){.scale = 1.0f / a->ratio,
                        .shift = {shift_of(a->paste_x, a->ratio), shift_of(a->paste_y, a->ratio)},
                        .ltrb = a->ltrb != 0};
    c->memo = memo;
    return HR_STATUS_OK;
}

static hr_status bbox_paste_run(hr_op_call *c, hr_error *error)
{
    const float *in = c->in[0].data;
    float *out = c->out[0].data;
    int64_t count;
    HR_TRY(hr__boxes_flat(c, 0, &count, error));
    for (int64_t k = 0; k < 4 * count; k++)
        out[k] = bbox_paste_of(c->memo, in[k], k);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_bbox_paste = {
    HR_OP("bbox_paste"),
    .doc = "Moves boxes to their positions after `paste` has put their image on a larger canvas. "
           "Input coordinates are relative to the image, output coordinates to the canvas. The "
           "input has four numbers for each box.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    HR_ARGS(bbox_paste_args,
            HR_ARG(bbox_paste_args, ratio, FLOAT, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
                   "Size of the canvas divided by the size of the image; at least 1."),
            HR_ARG(bbox_paste_args, paste_x, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Horizontal position of the image on the canvas: 0.0 is left, 1.0 is right."),
            HR_ARG(bbox_paste_args, paste_y, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Vertical position of the image on the canvas: 0.0 is top, 1.0 is bottom."),
            HR_ARG(bbox_paste_args, ltrb, BOOL, 0, "False",
                   "True: boxes are left, top, right, bottom. False: left, top, width, height.")),
    .in = HR_INPUTS({.name = "boxes"}),
    .infer = bbox_paste_infer,
    .run = bbox_paste_run,
};
