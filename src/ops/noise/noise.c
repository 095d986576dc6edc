/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Types, and tiles of draws. */
#include "ops/noise/noise.h"

hr_status hr__noise_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];

    if (in->dtype != HR_DTYPE_FLOAT && !hr_dtype_is_integer(in->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s; it must be of an integer type or FLOAT",
                       hr_dtype_name(in->dtype));
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    return HR_STATUS_OK;
}

void hr__noise_tiles(const hr_op_call *c, size_t count, hr_noise_fn make)
{
    uint32_t bits[HR_NOISE_TILE];

    for (size_t at = 0; at < count; at += HR_NOISE_TILE) {
        c->kernels->random_tile(bits, &c->rng, at / HR_NOISE_TILE * HR_NOISE_BLOCKS);
        make(c, bits, at, HR_MIN(count - at, (size_t)HR_NOISE_TILE));
    }
}
