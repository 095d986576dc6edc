/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Resampling of any number of axes of a tensor. Every pass reads whole (outer, n, inner) blocks;
 * the kernels sum over the taps in order, so that every machine gives the same bits. */
#include "ops/image/resize_nd.h"

enum { INNER_FEW = 4 }; /* so few elements lie side by side that outputs are made one by one */

static hr_status pass(const hr_op_call *c, float *dst, const float *src, size_t outer, size_t n,
                      size_t inner, const hr_filter_taps *f, hr_error *error)
{
    const hr_filter_float along = {f->out, f->taps, f->taps, f->start, f->coef};
    const float **rows = hr_arena_alloc(c->arena, (size_t)f->taps * sizeof(*rows), error);

    if (!rows)
        return HR_STATUS_NO_MEMORY;
    for (size_t o = 0; o < outer; o++, src += n * inner) {
        if (inner <= INNER_FEW) {
            c->kernels->hfilter_f32(dst, src, &along, (int32_t)inner);
            dst += (size_t)f->out * inner;
            continue;
        }
        for (size_t y = 0; y < (size_t)f->out; y++, dst += inner) {
            for (int32_t k = 0; k < f->taps; k++)
                rows[k] = src + (size_t)(f->start[y] + k) * inner;
            c->kernels->vfilter_f32(dst, rows, f->coef + y * (size_t)f->taps, f->taps, inner);
        }
    }
    return HR_STATUS_OK;
}

static hr_status resample_axis(hr_op_call *c, const float **data, hr_shape *shape, int32_t dim,
                               const hr_resample_axis *axis, hr_error *error)
{
    size_t n = (size_t)shape->extent[dim], outer = 1, inner = 1, bytes;
    hr_filter_taps f;

    HR_TRY(hr_filter_make(&f, axis, shape->extent[dim], c->arena, error));
    for (int32_t i = 0; i < dim; i++)
        outer *= (size_t)shape->extent[i];
    for (int32_t i = dim + 1; i < shape->ndim; i++)
        inner *= (size_t)shape->extent[i];
    shape->extent[dim] = axis->out;
    if (!hr_shape_volume(shape, &bytes) || !hr_size_mul(bytes, sizeof(float), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the resized volume is too large");
    float *out = hr_arena_alloc(c->arena, bytes, error);
    if (!out)
        return HR_STATUS_NO_MEMORY;
    if (bytes > 0)
        HR_TRY(pass(c, out, *data, outer, n, inner, &f, error));
    *data = out;
    return HR_STATUS_OK;
}

/* Nothing that a filter would change. */
static bool is_identity(const hr_resample_axis *axis, int64_t extent)
{
    return axis->lo == 0.0 && axis->hi == (double)extent && axis->out == extent &&
           axis->interp != HR_INTERP_GAUSSIAN && axis->interp != HR_INTERP_LANCZOS3;
}

static void store_u8(uint8_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dst[i] = hr_round_u8(src[i]);
}

hr_status hr__resize_nd(hr_op_call *c, const hr_tensor *in, hr_tensor *out, int32_t first,
                        int32_t axes, const hr_resample_axis *axis, hr_error *error)
{
    hr_shape shape = in->shape;
    size_t count, bytes;

    if (!hr_shape_volume(&in->shape, &count) || !hr_size_mul(count, sizeof(float), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the volume is too large");
    float *start = hr_arena_alloc(c->arena, bytes, error);
    if (!start)
        return HR_STATUS_NO_MEMORY;
    hr_convert(start, HR_DTYPE_FLOAT, in->data, in->dtype, count);
    const float *data = start;
    for (int32_t i = 0; i < axes; i++)
        if (!is_identity(&axis[i], shape.extent[first + i]))
            HR_TRY(resample_axis(c, &data, &shape, first + i, &axis[i], error));
    if (!hr_shape_volume(&out->shape, &count))
        return hr_fail(error, HR_STATUS_LIMIT, "the resized volume is too large");
    if (out->dtype == HR_DTYPE_UINT8)
        store_u8(out->data, data, count);
    else
        hr_convert(out->data, out->dtype, data, HR_DTYPE_FLOAT, count);
    return HR_STATUS_OK;
}
