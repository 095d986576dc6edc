/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.flip_boxes: boxes of an image that is mirrored. */
#include "ops/torchvision/rows.h"

typedef struct flip_boxes_args {
    int32_t horizontal, vertical;
} flip_boxes_args;

static void mirror(hr_box_rows *rows, int32_t axis)
{
    const float size = rows->v[2 + axis];

    for (int64_t i = 1; i < rows->n; i++) {
        float *low = &rows->v[i * HR_ROW + axis], *high = low + 2, end = size - *low;
        *low = size - *high;
        *high = end;
    }
}

static hr_status flip_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    const flip_boxes_args *a = c->args;

    (void)error;
    if (a->horizontal)
        mirror(rows, 0);
    if (a->vertical)
        mirror(rows, 1);
    return HR_STATUS_OK;
}

static hr_status flip_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, flip_boxes, error);
}

const hr_op_def hr_op_torchvision_flip_boxes = {
    HR_OP("_torchvision.flip_boxes"),
    .doc = "Mirrors boxes with their image.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    HR_ARGS(flip_boxes_args,
            HR_ARG(flip_boxes_args, horizontal, INT, HR_ARG_PER_SAMPLE, "1", "As in flip."),
            HR_ARG(flip_boxes_args, vertical, INT, HR_ARG_PER_SAMPLE, "0", "As in flip.")),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = hr__rows_infer,
    .run = flip_boxes_run,
};
