/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* bb_flip: mirrors boxes. */
#include "ops/boxes/boxes.h"

typedef struct bb_flip_args {
    int32_t horizontal, vertical, ltrb;
} bb_flip_args;

static hr_status bb_flip_infer(hr_op_call *c, hr_error *error)
{
    const bb_flip_args *a = c->args;
    hr_bb_flip *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    int64_t count;

    HR_TRY_ALLOC(m);
    HR_TRY(hr__boxes_flat(c, 0, &count, error));
    *m = (hr_bb_flip){
        .ltrb = a->ltrb, .horizontal = a->horizontal != 0, .vertical = a->vertical != 0};
    c->memo = m;
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status bb_flip_run(hr_op_call *c, hr_error *error)
{
    const float *in = c->in[0].data;
    float *out = c->out[0].data;
    int64_t count;
    HR_TRY(hr__boxes_flat(c, 0, &count, error));
    for (int64_t k = 0; k < count; k++)
        bb_flip_of(c->memo, in + 4 * k, out + 4 * k);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_bb_flip = {
    HR_OP("bb_flip"),
    .doc = "Mirrors boxes within the image. Coordinates are relative to the image, from 0.0 to "
           "1.0. The input has four numbers for each box.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    HR_ARGS(bb_flip_args,
            HR_ARG(bb_flip_args, horizontal, INT, HR_ARG_PER_SAMPLE, "1",
                   "If not 0, mirror the boxes horizontally."),
            HR_ARG(bb_flip_args, vertical, INT, HR_ARG_PER_SAMPLE, "0",
                   "If not 0, mirror the boxes vertically."),
            HR_ARG(bb_flip_args, ltrb, BOOL, 0, "False",
                   "True: boxes are left, top, right, bottom. False: left, top, width, height.")),
    .in = HR_INPUTS({.name = "boxes"}),
    .infer = bb_flip_infer,
    .run = bb_flip_run,
};
