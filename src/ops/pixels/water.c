/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* water: the image as if seen through waves. */
#include "core/core.h"
#include "ops/pixels/displace.h"

typedef struct water_args {
    hr_displace_args displace;
    float ampl_x, ampl_y, freq_x, freq_y, phase_x, phase_y;
} water_args;

static const hr_arg_def water_arg_defs[] = {
    HR_DISPLACE_ARG_DEFS,
    HR_ARG(water_args, ampl_x, FLOAT, 0, "10.0", "Amplitude of horizontal moves in pixels."),
    HR_ARG(water_args, ampl_y, FLOAT, 0, "10.0", "Amplitude of vertical moves in pixels."),
    HR_ARG(water_args, freq_x, FLOAT, 0, "0.04908738521234052",
           "Change of the horizontal wave's phase from row to row, in radians."),
    HR_ARG(water_args, freq_y, FLOAT, 0, "0.04908738521234052",
           "Change of the vertical wave's phase from column to column, in radians."),
    HR_ARG(water_args, phase_x, FLOAT, 0, "0.0", "Phase of the horizontal wave in radians."),
    HR_ARG(water_args, phase_y, FLOAT, 0, "0.0", "Phase of the vertical wave in radians."),
    HR_ARG_END};

static hr_status water_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__displace_check(&((const water_args *)args)->displace, error);
}

static hr_status water_infer(hr_op_call *c, hr_error *error)
{
    const water_args *a = c->args;
    hr_displace *d;

    HR_TRY(hr__displace_infer(c, &a->displace, HR_DISPLACE_KIND_WATER, &d, error));
    float *x = hr_arena_alloc(c->arena, (size_t)d->gather.in[1] * sizeof(*x), error);
    float *y = hr_arena_alloc(c->arena, (size_t)d->gather.in[0] * sizeof(*y), error);
    if (!x || !y)
        return HR_STATUS_NO_MEMORY;
    for (int64_t k = 0; k < d->gather.in[1]; k++) {
        float at = a->freq_x * (float)k + a->phase_x;
        x[k] = a->ampl_x * (float)hr_sin((double)at);
    }
    for (int64_t k = 0; k < d->gather.in[0]; k++) {
        float at = a->freq_y * (float)k + a->phase_y;
        y[k] = a->ampl_y * (float)hr_cos((double)at);
    }
    d->shift_x = x;
    d->shift_y = y;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_water = {
    HR_OP_ABI,
    .name = "water",
    .doc = "Moves rows horizontally by ampl_x * sin(freq_x * y + phase_x), and columns vertically "
           "by ampl_y * cos(freq_y * x + phase_y). The input is UINT8 or FLOAT.",
    .devices = "cpu|gpu",
    .args = water_arg_defs,
    .args_size = sizeof(water_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = water_check,
    .create = hr__displace_create,
    .destroy = hr__displace_destroy,
    .infer = water_infer,
    .run_cpu = hr__displace_run,
};
