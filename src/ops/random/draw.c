/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shapes of random operators. */
#include "ops/random/draw.h"

hr_status hr__draw_describe(hr_op_call *c, hr_ints shape, hr_dtype dtype, hr_error *error)
{
    hr_shape out = {0};
    size_t volume;

    if (shape.v && c->n_in > 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the shape is given twice, by `shape` and by an input: give one of them");
    if (c->n_in > 0)
        out = c->in[0].shape;
    if (shape.v) {
        if (shape.n > HR_MAX_NDIM)
            return hr_fail(error, HR_STATUS_ERROR, "`shape` has %d dimensions: at most %d work",
                           (int)shape.n, HR_MAX_NDIM);
        out.ndim = shape.n;
        for (int32_t i = 0; i < shape.n; i++)
            out.extent[i] = shape.v[i];
    }
    if (!hr_shape_volume(&out, &volume))
        return hr_fail(error, HR_STATUS_ERROR, "`shape` has a negative extent or is too large");
    hr_tensor_describe(&c->out[0], dtype, out, NULL);
    return HR_STATUS_OK;
}

void hr__draw_block(const hr_op_call *c, uint64_t block, uint32_t bits[4])
{
    const uint32_t *from = c->rng.counter;
    const uint32_t counter[4] = {from[0] + (uint32_t)block, from[1], from[2], from[3]};

    hr_philox(c->rng.key, counter, bits);
}

void hr__draw_samples(hr_op_call *c, void (*draw)(const hr_op_call *c, uint8_t *to))
{
    size_t bytes = 0;

    hr_tensor_bytes(&c->out[0], &bytes);
    for (int32_t i = 0; i < c->count; i++) {
        c->rng = c->rngs[i];
        draw(c, (uint8_t *)c->out[0].data + (size_t)i * bytes);
    }
}
