/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Boxes on the CPU and on the GPU, the memos that infer leaves for both, and checks of inputs. */
#pragma once

#include "core/core.h"
#include "core/shared.h"
#include "headrace/operator.h"

/* Fails unless input `i` is FLOAT with a multiple of 4 elements: boxes of four numbers, in any
 * shape. `count`: the boxes. */
hr_status hr__boxes_flat(const hr_op_call *c, int32_t i, int64_t *count, hr_error *error);
/* Fails unless input `i` is FLOAT with shape (boxes, numbers), `numbers` being at least `least` and
 * at most `most`. */
hr_status hr__boxes_rows(const hr_op_call *c, int32_t i, int64_t least, int64_t most,
                         hr_error *error);
/* Fails unless input `i` is INT32 with a label, or a row of them, for each of `count` boxes. */
hr_status hr__boxes_labels(const hr_op_call *c, int32_t i, int64_t count, hr_error *error);

/* ---- bb_flip ---- */

typedef struct hr_bb_flip {
    bool ltrb, horizontal, vertical;
} hr_bb_flip;

/* Boxes of the form x, y, w, h become corners and back, also if nothing is flipped, as in DALI: the
 * rounding shows. */
HR_SHARED void bb_flip_axis(bool ltrb, bool flipped, float low, float high, float *out)
{
    float end = ltrb ? high : low + high;
    float from = flipped ? 1.0f - end : low, to = flipped ? 1.0f - low : end;

    out[0] = from;
    out[2] = ltrb ? to : to - from;
}

HR_SHARED void bb_flip_of(const hr_bb_flip *m, const float *in, float *out)
{
    bb_flip_axis(m->ltrb, m->horizontal, in[0], in[2], out);
    bb_flip_axis(m->ltrb, m->vertical, in[1], in[3], out + 1);
}

/* ---- bbox_paste ---- */

typedef struct hr_bbox_paste {
    float scale, shift[2]; /* along x and y */
    bool ltrb;
} hr_bbox_paste;

/* Number k of boxes, which are left, top and then right, bottom or width, height. */
HR_SHARED float bbox_paste_of(const hr_bbox_paste *m, float v, int64_t k)
{
    return v * m->scale + (m->ltrb || k % 4 < 2 ? m->shift[k % 2] : 0.0f);
}

/* ---- box_encoder ---- */

/* Left, top, right, bottom. */
typedef struct hr_box {
    float l, t, r, b;
} hr_box;

HR_SHARED float box_area(const hr_box *a)
{
    return (a->r - a->l) * (a->b - a->t);
}

/* Intersection over union. */
HR_SHARED float box_iou(const hr_box *a, float area, const hr_box *b)
{
    float l = a->l > b->l ? a->l : b->l, r = a->r < b->r ? a->r : b->r;
    float t = a->t > b->t ? a->t : b->t, e = a->b < b->b ? a->b : b->b;
    float both = l < r && t < e ? (r - l) * (e - t) : 0.0f;

    return both / (area + box_area(b) - both);
}

typedef struct hr_box_encoder {
    const hr_box *anchors;
    int32_t count;
    bool offset;
    float criteria, scale, means[4], stds[4];
} hr_box_encoder;

/* Centre, width and height of a box. */
HR_SHARED void box_centre(const hr_box *b, float *out)
{
    out[0] = 0.5f * (b->l + b->r);
    out[1] = 0.5f * (b->t + b->b);
    out[2] = b->r - b->l;
    out[3] = b->b - b->t;
}

/* What is written for an anchor that is matched to `box`; `logs` are the logarithms of the box's
 * width and height divided by the anchor's. */
HR_SHARED void box_encode(const hr_box_encoder *m, const float *box, const float *anchor,
                          const float *logs, float *out)
{
    for (int k = 0; k < 4; k++) {
        float offset = k < 2
                           ? (box[k] * m->scale - anchor[k] * m->scale) / (anchor[k + 2] * m->scale)
                           : logs[k - 2];
        out[k] = m->offset ? (offset - m->means[k]) / m->stds[k] : box[k];
    }
}
