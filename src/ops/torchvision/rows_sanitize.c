/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.sanitize_boxes: removes boxes as torchvision's SanitizeBoundingBoxes does. */
#include "ops/torchvision/rows.h"

#include <string.h>

typedef struct sanitize_args {
    float min_size, min_area;
} sanitize_args;

static bool good(const sanitize_args *a, const float *size, const float *box)
{
    const float w = box[2] - box[0], h = box[3] - box[1];

    for (int32_t k = 0; k < 4; k++)
        if (!(box[k] >= 0.0f && box[k] <= size[k % 2]))
            return false;
    return w >= a->min_size && h >= a->min_size && w * h >= a->min_area;
}

static hr_status sanitize_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(hr__rows_check(c, error));
    const float *in = c->in[0].data;
    const int64_t n = c->in[0].shape.extent[0];
    float *kept = hr_arena_alloc(c->arena, (size_t)n * HR_ROW * sizeof(float), error), *out = kept;

    HR_TRY_ALLOC(kept);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && !good(c->args, in + 2, in + i * HR_ROW))
            continue;
        memcpy(out, in + i * HR_ROW, HR_ROW * sizeof(float));
        out += HR_ROW;
    }
    const int64_t extent[] = {(out - kept) / HR_ROW, HR_ROW};
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, hr_shape_make(2, extent), NULL);
    c->memo = kept;
    return HR_STATUS_OK;
}

static hr_status sanitize_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_tensor *out = &c->out[0];
    memcpy(out->data, c->memo, (size_t)out->shape.extent[0] * HR_ROW * sizeof(float));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_torchvision_sanitize_boxes = {
    HR_OP("_torchvision.sanitize_boxes"),
    .doc = "Removes boxes that are too small or outside of their image.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    HR_ARGS(sanitize_args,
            HR_ARG(sanitize_args, min_size, FLOAT, 0, "1.0", "Least width and height.", .min = 0,
                   .max = 1e9),
            HR_ARG(sanitize_args, min_area, FLOAT, 0, "1.0", "Least area.", .min = 0, .max = 1e18)),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = sanitize_infer,
    .run = sanitize_run,
};
