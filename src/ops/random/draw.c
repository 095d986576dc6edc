/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Output shapes and runs of draws of random operators. */
#include "ops/random/draw.h"

#include "core/rng_inline.h"

hr_status hr__draw_check_dtype(int32_t dtype, hr_error *error)
{
    if (dtype != HR_DTYPE_FLOAT16 && dtype != HR_DTYPE_BOOL)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s; it must be an integer type, FLOAT or FLOAT64",
                   hr_dtype_name((hr_dtype)dtype));
}

hr_status hr__draw_describe(hr_op_call *c, hr_ints shape, hr_dtype dtype, hr_error *error)
{
    hr_shape out = {0};
    size_t volume;

    if (shape.v && c->n_in > 0)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the shape is given twice, by `shape` and by an input; give only one of them");
    if (c->n_in > 0)
        out = c->in[0].shape;
    if (shape.v) {
        if (shape.n > HR_MAX_NDIM)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`shape` has %d dimensions; at most %d are supported", (int)shape.n,
                           HR_MAX_NDIM);
        out.ndim = shape.n;
        for (int32_t i = 0; i < shape.n; i++)
            out.extent[i] = shape.v[i];
    }
    if (!hr_shape_volume(&out, &volume))
        return hr_fail(error, HR_STATUS_ERROR, "`shape` has a negative extent or is too large");
    hr_tensor_describe(&c->out[0], dtype, out, NULL);
    return HR_STATUS_OK;
}

static void draw_sample(const hr_op_call *c, const hr_rng *rng, size_t count, size_t per,
                        hr_draw_fn make, uint8_t *to)
{
    size_t size = hr_dtype_size(c->out[0].dtype), step = HR_DRAW_RUN / per;
    uint32_t bits[HR_DRAW_RUN];

    for (size_t k = 0; k < count; k += step) {
        size_t n = HR_MIN(count - k, step);
        for (size_t d = 0; d < n * per; d += 4)
            rng_block(rng, (k * per + d) / 4, bits + d);
        make(c, bits, n, to + k * size);
    }
}

/* One element per sample: a column is filled like a single sample, with bits from several
 * generators. */
static void draw_scalars(const hr_op_call *c, size_t per, hr_draw_fn make, uint8_t *to)
{
    size_t size = hr_dtype_size(c->out[0].dtype), count = (size_t)c->count, step = HR_DRAW_RUN / 4;
    uint32_t bits[HR_DRAW_RUN];

    for (size_t i = 0; i < count; i += step) {
        size_t n = HR_MIN(count - i, step);
        for (size_t k = 0; k < n; k++) /* the next one overwrites unused elements */
            rng_block(&c->rngs[i + k], 0, bits + k * per);
        make(c, bits, n, to + i * size);
    }
}

void hr__draw(const hr_op_call *c, size_t per, hr_draw_fn make)
{
    uint8_t *to = c->out[0].data;
    size_t count = 0;

    hr_shape_volume(&c->out[0].shape, &count);
    if (count == 1) {
        draw_scalars(c, per, make, to);
        return;
    }
    for (int32_t i = 0; i < c->count; i++)
        draw_sample(c, &c->rngs[i], count, per, make,
                    to + (size_t)i * count * hr_dtype_size(c->out[0].dtype));
}
