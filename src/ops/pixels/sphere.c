/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* sphere: the image as if seen on a sphere. */
#include "ops/pixels/displace.h"

typedef struct sphere_args {
    hr_displace_args displace;
} sphere_args;

static hr_status sphere_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__displace_check(&((const sphere_args *)args)->displace, error);
}

static hr_status sphere_infer(hr_op_call *c, hr_error *error)
{
    const sphere_args *a = c->args;
    hr_displace *d;

    return hr__displace_infer(c, &a->displace, HR_DISPLACE_KIND_SPHERE, &d, error);
}

const hr_op_def hr_op_sphere = {
    HR_OP("sphere"),
    .doc = "Distorts the image as if it were on a sphere: each pixel is taken from a position "
           "whose distance from the centre is the square of its own. The input is UINT8 or FLOAT.",
    .devices = "cpu|gpu",
    HR_ARGS(sphere_args, HR_DISPLACE_ARG_DEFS),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = sphere_check,
    .create = hr__displace_create,
    .destroy = hr__displace_destroy,
    .infer = sphere_infer,
    .run = hr__displace_run,
};
