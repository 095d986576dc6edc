/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* jitter: every element comes from a random neighbour. */
#include "ops/pixels/displace.h"

typedef struct jitter_args {
    hr_displace_args displace;
    int32_t nDegree;
} jitter_args;

static hr_status jitter_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__displace_check(&((const jitter_args *)args)->displace, error);
}

static hr_status jitter_infer(hr_op_call *c, hr_error *error)
{
    const jitter_args *a = c->args;
    hr_displace *d;

    HR_TRY(hr__displace_infer(c, &a->displace, HR_DISPLACE_KIND_JITTER, &d, error));
    d->degree = a->nDegree;
    d->rng = c->rng;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_jitter = {
    HR_OP("jitter"),
    .doc = "Takes every element from a random position near its own. Edges repeat. The input is "
           "UINT8 or FLOAT.",
    .devices = "gpu",
    .flags = HR_OP_RANDOM,
    HR_ARGS(jitter_args, HR_DISPLACE_ARG_DEFS,
            HR_ARG(jitter_args, nDegree, INT, 0, "2",
                   "Number of possible moves: each axis moves by a random integer from -(nDegree "
                   "// 2) to (nDegree - 1) // 2.",
                   .min = 1, .max = 1 << 20)),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = jitter_check,
    .create = hr__displace_create,
    .destroy = hr__displace_destroy,
    .infer = jitter_infer,
    .run = hr__displace_run,
};
