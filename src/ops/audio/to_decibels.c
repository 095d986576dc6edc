/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* to_decibels: ratios as decibels. */
#include "ops/audio/to_decibels.h"
#include "headrace/operator.h"
#include "kernels/kernels.h"

enum {
    LANES = 16,
    BLOCK = 2048 /* elements that stay in the cache between the steps */
};

static hr_status decibels_check(const void *args, const hr_given *given, hr_error *error)
{
    if (((const hr_decibels_args *)args)->reference == 0 && hr_arg_given(given, "reference"))
        return hr_fail(error, HR_STATUS_ERROR, "`reference` argument can't be zero");
    return HR_STATUS_OK;
}

static hr_status decibels_infer(hr_op_call *c, hr_error *error)
{
    const hr_decibels_args *a = c->args;
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be FLOAT, but it is %s",
                       hr_dtype_name(c->in[0].dtype));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, c->in[0].layout.name);
    hr_decibels *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    HR_TRY_ALLOC(m);
    const float cutoff = (float)hr_pow(10.0, (double)a->cutoff_db / (double)a->multiplier);
    m->least = cutoff > 0x1p-149f ? cutoff : 0x1p-149f; /* the smallest float */
    c->memo = m;
    return HR_STATUS_OK;
}

/* The largest element, or 0; NaN counts as nothing. Lanes, so that one comparison need not wait for
 * the other. */
static float largest(const float *v, size_t count)
{
    float max[LANES] = {0}, most = 0.0f;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            max[k] = v[i + k] > max[k] ? v[i + k] : max[k];
    for (; i < count; i++)
        most = v[i] > most ? v[i] : most;
    for (size_t k = 0; k < LANES; k++)
        most = max[k] > most ? max[k] : most;
    return most;
}

static hr_status decibels_run(hr_op_call *c, hr_error *error)
{
    const hr_decibels_args *a = c->args;
    const hr_decibels *m = c->memo;
    const float *in = c->in[0].data;
    float *out = c->out[0].data;
    size_t count, size;
    if (!hr_shape_volume(&c->in[0].shape, &count))
        return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
    const float inverse = decibels_inverse(a->reference != 0 ? a->reference : largest(in, count));
    for (; count > 0; count -= size, in += size, out += size) {
        size = HR_MIN(count, (size_t)BLOCK);
        for (size_t i = 0; i < size; i++)
            out[i] = decibels_ratio(in[i], inverse, m->least);
        c->kernels->log_f32(out, out, size, HR_DECIBELS_BASE);
        for (size_t i = 0; i < size; i++)
            out[i] *= a->multiplier;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_to_decibels = {
    HR_OP("to_decibels"),
    .doc = "Converts powers or magnitudes to decibels: `multiplier` * log10(value / `reference`).",
    .devices = "cpu|gpu",
    HR_ARGS(
        hr_decibels_args,
        HR_ARG(hr_decibels_args, multiplier, FLOAT, 0, "10.0",
               "Decibels per factor of 10: 10 for powers, 20 for magnitudes."),
        HR_ARG(hr_decibels_args, reference, FLOAT, 0, "0.0",
               "The value that gives 0 dB; it must not be 0. Default: the largest value of the "
               "sample."),
        HR_ARG(hr_decibels_args, cutoff_db, FLOAT, 0, "-200.0", "Smaller results become this.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = decibels_check,
    .infer = decibels_infer,
    .run = decibels_run,
};
