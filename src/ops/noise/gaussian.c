/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* noise.gaussian: adds normal numbers. */
#include "ops/noise/noise.h"

typedef struct noise_gaussian_args {
    float mean, stddev;
} noise_gaussian_args;

static hr_status noise_gaussian_infer(hr_op_call *c, hr_error *error)
{
    const noise_gaussian_args *a = c->args;
    hr_noise_gaussian *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    *m = (hr_noise_gaussian){a->mean, a->stddev};
    c->memo = m;
    return hr__noise_infer(c, error);
}

static void add(const hr_op_call *c, const uint32_t *bits, size_t at, size_t n)
{
    const hr_noise_gaussian m = *(const hr_noise_gaussian *)c->memo;
    const hr_dtype type = c->in[0].dtype;
    const uint8_t *in = (const uint8_t *)c->in[0].data + at * hr_dtype_size(type);
    uint8_t *out = (uint8_t *)c->out[0].data + at * hr_dtype_size(type);
    float noise[HR_NOISE_TILE], value[HR_NOISE_TILE];

    c->kernels->normal_tile(noise, bits);
    if (type == HR_DTYPE_UINT8) {
        c->kernels->add_noise_u8(out, in, noise, n, m.mean, m.stddev);
        return;
    }
    hr_convert(value, HR_DTYPE_FLOAT, in, type, n);
    for (size_t i = 0; i < n; i++)
        value[i] = noise_added(value[i], noise[i], m.mean, m.stddev);
    hr_convert(out, type, value, HR_DTYPE_FLOAT, n);
}

static hr_status noise_gaussian_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    size_t volume = 0;
    hr_shape_volume(&c->in[0].shape, &volume);
    hr__noise_tiles(c, volume, add);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_noise_gaussian = {
    HR_OP("noise.gaussian"),
    .doc = "Adds normally distributed noise to every element. The result is rounded and saturated "
           "to the type of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(noise_gaussian_args,
            HR_ARG(noise_gaussian_args, mean, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Mean of the noise, in the units of the input."),
            HR_ARG(noise_gaussian_args, stddev, FLOAT, HR_ARG_PER_SAMPLE, "1.0",
                   "Standard deviation of the noise, in the units of the input.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = noise_gaussian_infer,
    .run = noise_gaussian_run,
};
