/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* box_encoder: matches boxes to the anchors of a detector, as in SSD. */
#include "ops/boxes/boxes.h"

#include <string.h>

typedef struct box_encoder_args {
    hr_floats anchors, means, stds;
    float criteria, scale;
    int32_t offset;
} box_encoder_args;

static hr_status box_encoder_check(const void *args, const hr_given *given, hr_error *error)
{
    const box_encoder_args *a = args;

    (void)given;
    if (a->anchors.n == 0 || a->anchors.n % 4 != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`anchors` has %d numbers; it must have four for each anchor",
                       (int)a->anchors.n);
    if (a->means.n != 4 || a->stds.n != 4)
        return hr_fail(error, HR_STATUS_ERROR, "`means` and `stds` must have 4 numbers");
    for (int32_t k = 0; k < 4; k++)
        if (a->stds.v[k] == 0.0f)
            return hr_fail(error, HR_STATUS_ERROR, "`stds` must not contain 0");
    return HR_STATUS_OK;
}

static hr_status box_encoder_create(const void *args, void **state, hr_error *error)
{
    const box_encoder_args *a = args;
    const size_t size = (size_t)a->anchors.n * sizeof(float);
    hr_box_encoder *m = hr_calloc(1, sizeof(*m) + size, error);

    HR_TRY_ALLOC(m);
    *m = (hr_box_encoder){.anchors = (const hr_box *)(m + 1),
                          .count = a->anchors.n / 4,
                          .offset = a->offset,
                          .criteria = a->criteria,
                          .scale = a->scale};
    memcpy(m->means, a->means.v, sizeof(m->means));
    memcpy(m->stds, a->stds.v, sizeof(m->stds));
    memcpy(m + 1, a->anchors.v, size);
    *state = m;
    return HR_STATUS_OK;
}

static hr_status box_encoder_infer(hr_op_call *c, hr_error *error)
{
    const hr_box_encoder *m = c->state;
    const int64_t extents[2] = {m->count, 4};

    HR_TRY(hr__boxes_rows(c, 0, 4, 4, error));
    HR_TRY(hr__boxes_labels(c, 1, c->in[0].shape.extent[0], error));
    if (c->in[1].shape.ndim > 2 || (c->in[1].shape.ndim == 2 && c->in[1].shape.extent[1] != 1))
        return hr_fail(error, HR_STATUS_ERROR, "there must be one label for each box");
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, hr_shape_make(2, extents), NULL);
    hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, hr_shape_make(1, extents), NULL);
    return HR_STATUS_OK;
}

/* The box of each anchor, -1 for none. Later boxes and later anchors win ties; the best anchor of a
 * box counts as if both were equal, and more. */
static void match(const hr_box_encoder *m, const hr_box *boxes, int32_t count, float *best,
                  int32_t *of)
{
    for (int32_t k = 0; k < m->count; k++) {
        best[k] = m->criteria;
        of[k] = -1;
    }
    for (int32_t i = 0; i < count; i++) {
        const float area = box_area(&boxes[i]);
        float most = -1.0f;
        int32_t at = m->count - 1;
        for (int32_t k = 0; k < m->count; k++) {
            float iou = box_iou(&boxes[i], area, &m->anchors[k]);
            at = iou >= most ? k : at;
            most = iou >= most ? iou : most;
            bool more = of[k] < 0 ? iou > best[k] : iou >= best[k];
            of[k] = more ? i : of[k];
            best[k] = more ? iou : best[k];
        }
        of[at] = i;
        best[at] = 2.0f;
    }
}

static void encode(const hr_box_encoder *m, const hr_box *boxes, const int32_t *labels,
                   const int32_t *of, float *out, int32_t *out_labels)
{
    for (int32_t k = 0; k < m->count; k++) {
        float anchor[4], box[4], logs[2] = {0};
        box_centre(&m->anchors[k], anchor);
        out_labels[k] = of[k] < 0 ? 0 : labels[of[k]];
        if (of[k] < 0) {
            for (int32_t j = 0; j < 4; j++)
                out[4 * k + j] = m->offset ? 0.0f : anchor[j];
            continue;
        }
        box_centre(&boxes[of[k]], box);
        for (int32_t j = 0; j < 2 && m->offset; j++)
            logs[j] = (float)hr_log((double)(box[j + 2] * m->scale / (anchor[j + 2] * m->scale)));
        box_encode(m, box, anchor, logs, out + 4 * k);
    }
}

static hr_status box_encoder_run(hr_op_call *c, hr_error *error)
{
    const hr_box_encoder *m = c->state;
    float *best = hr_arena_alloc(c->arena, 8 * (size_t)m->count, error);
    HR_TRY_ALLOC(best);
    int32_t *of = (int32_t *)(best + m->count);
    match(m, c->in[0].data, (int32_t)c->in[0].shape.extent[0], best, of);
    encode(m, c->in[0].data, c->in[1].data, of, c->out[0].data, c->out[1].data);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_box_encoder = {
    HR_OP("box_encoder"),
    .doc = "Matches boxes (left, top, right, bottom) and their labels to anchors, as the SSD "
           "detector does. Returns for each anchor the centre, width and height of its box, and "
           "the label; an anchor without a box gets its own numbers and label 0.",
    .devices = "cpu|gpu",
    HR_ARGS(
        box_encoder_args,
        HR_ARG(box_encoder_args, anchors, FLOATS, HR_ARG_REQUIRED, NULL,
               "The anchors: left, top, right and bottom of each."),
        HR_ARG(
            box_encoder_args, criteria, FLOAT, 0, "0.5",
            "A box is matched to an anchor if their intersection over union is greater than this.",
            .min = 0, .max = 1),
        HR_ARG(box_encoder_args, offset, BOOL, 0, "False",
               "Return offsets from the anchors instead of boxes. Centre: ((box - anchor) / anchor "
               "size - mean) / std. Size: (log(box size / anchor size) - mean) / std."),
        HR_ARG(box_encoder_args, means, FLOATS, 0, "[0.0, 0.0, 0.0, 0.0]",
               "Means of the offsets of x, y, width and height."),
        HR_ARG(box_encoder_args, stds, FLOATS, 0, "[1.0, 1.0, 1.0, 1.0]",
               "Standard deviations of the offsets of x, y, width and height; none may be 0."),
        HR_ARG(box_encoder_args, scale, FLOAT, 0, "1.0",
               "Boxes and anchors are multiplied by this before offsets are computed.")),
    .in = HR_INPUTS({.name = "boxes"}, {.name = "labels"}),
    .out = HR_OUTPUTS({"boxes"}, {"labels"}),
    .check = box_encoder_check,
    .create = box_encoder_create,
    .destroy = hr_free,
    .infer = box_encoder_infer,
    .run = box_encoder_run,
};
