/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Separable filters along axes of tensors. Every pass reads whole (outer, n, inner) blocks. The
 * kernels add taps in order, so that all machines give the same bits. */
#include "ops/image/resample.h"

#include <string.h>

enum { INNER_FEW = 4 }; /* with so few adjacent elements, outputs are computed one by one */

static hr_status too_large(hr_error *error)
{
    return hr_fail(error, HR_STATUS_LIMIT, "the resized tensor is too large");
}

static hr_status pass(const hr_op_call *c, float *dst, const float *src, size_t outer, size_t n,
                      size_t inner, const hr_filter_taps *f, hr_error *error)
{
    const hr_filter_float along = {f->out,  f->taps,      f->taps,   f->start,
                                   f->coef, f->even_from, f->even_to};
    const float **rows = hr_arena_alloc(c->arena, (size_t)f->taps * sizeof(*rows), error);

    HR_TRY_ALLOC(rows);
    for (size_t o = 0; o < outer; o++, src += n * inner) {
        if (inner <= INNER_FEW) {
            c->kernels->hfilter_f32(dst, NULL, src, &along, (int32_t)inner);
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

static hr_status resample_axis(hr_op_call *c, float **data, hr_shape *shape, int32_t dim,
                               const hr_filter_axis *axis, hr_error *error)
{
    size_t n = (size_t)shape->extent[dim], outer = 1, inner = 1, bytes;
    hr_filter_taps f;

    HR_TRY(hr_filter_make(&f, axis, shape->extent[dim], c->arena, error));
    for (int32_t i = 0; i < dim; i++)
        outer *= (size_t)shape->extent[i];
    for (int32_t i = dim + 1; i < shape->ndim; i++)
        inner *= (size_t)shape->extent[i];
    shape->extent[dim] = f.out;
    if (!hr_shape_volume(shape, &bytes) || !hr_size_mul(bytes, sizeof(float), &bytes))
        return too_large(error);
    float *out = hr_arena_alloc(c->arena, bytes, error);
    HR_TRY_ALLOC(out);
    if (bytes > 0)
        HR_TRY(pass(c, out, *data, outer, n, inner, &f, error));
    *data = out;
    return HR_STATUS_OK;
}

bool hr__resample_is_identity(const hr_filter_axis *filter, int64_t extent)
{
    const hr_resample_axis *axis = &filter->resample;

    if (filter->given.taps)
        return filter->given.count == 1 && filter->given.taps[0] == 1.0f;
    return axis->lo == 0.0 && axis->hi == (double)extent && axis->out == extent &&
           axis->interp != HR_INTERP_GAUSSIAN && axis->interp != HR_INTERP_LANCZOS3;
}

static void store_u8(uint8_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dst[i] = hr_round_u8(src[i]);
}

static const hr_filter_axis *axes_of(const hr_resampling *r, int32_t filter)
{
    return filter == 0 ? r->axis : r->more[filter - 1];
}

static hr_status filter_axes(hr_op_call *c, const hr_resampling *r, int32_t filter, float **data,
                             hr_error *error)
{
    const hr_filter_axis *axis = axes_of(r, filter);
    hr_shape shape = c->in[0].shape;

    for (int32_t i = 0; i < r->axes; i++)
        if (!hr__resample_is_identity(&axis[i], shape.extent[r->first + i]))
            HR_TRY(resample_axis(c, data, &shape, r->first + i, &axis[i], error));
    return HR_STATUS_OK;
}

static hr_status run_axes(hr_op_call *c, const hr_resampling *r, size_t total, hr_error *error)
{
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    size_t count, bytes;

    if (!hr_shape_volume(&in->shape, &count) || !hr_size_mul(count, sizeof(float), &bytes))
        return too_large(error);
    float *start = hr_arena_alloc(c->arena, bytes, error);
    HR_TRY_ALLOC(start);
    hr_convert(start, HR_DTYPE_FLOAT, in->data, in->dtype, count);
    float *data = start;
    for (int32_t k = 0; k <= r->more_count; k++) {
        float *one = start;
        HR_TRY(filter_axes(c, r, k, &one, error));
        for (size_t i = 0; i < total && k > 0; i++)
            data[i] += one[i];
        data = k == 0 ? one : data;
    }
    if (out->dtype == HR_DTYPE_UINT8)
        store_u8(out->data, data, total);
    else
        hr_convert(out->data, out->dtype, data, HR_DTYPE_FLOAT, total);
    return HR_STATUS_OK;
}

/* Dimensions before the two axes become images, those after them channels. */
static hr_status images_make(const hr_op_call *c, const hr_resampling *r, hr_image_program *p,
                             hr_error *error)
{
    hr_tensor images = c->in[0];
    const int64_t *is = c->in[0].shape.extent;
    int64_t extent[4] = {1, is[r->first], is[r->first + 1], 1};

    for (int32_t d = 0; d < r->first; d++)
        extent[0] *= is[d];
    for (int32_t d = r->first + 2; d < images.shape.ndim; d++)
        extent[3] *= is[d];
    images.shape = hr_shape_make(4, extent);
    HR_TRY(hr_layout_set(&images.layout, "FHWC", error));
    HR_TRY(hr_program_from_tensor(p, &images, "FHWC", error));
    const hr_filter_axis *y = &r->axis[0], *x = &r->axis[1];
    if (y->given.taps) {
        const hr_given_taps rows[2] = {y->given, r->more[0][0].given};
        const hr_given_taps columns[2] = {x->given, r->more[0][1].given};
        return hr_program_filter(p, rows, columns, 1 + r->more_count, c->out[0].dtype, error);
    }
    return hr_program_resample(p, &y->resample, &x->resample, c->out[0].dtype, error);
}

hr_status hr__resample_run(hr_op_call *c, const hr_resampling *r, hr_error *error)
{
    size_t total;

    if (!hr_shape_volume(&c->out[0].shape, &total))
        return too_large(error);
    if (total == 0)
        return HR_STATUS_OK;
    if (!r->images)
        return run_axes(c, r, total, error);
    hr_image_program *p = hr_arena_alloc(c->arena, sizeof(*p), error);
    HR_TRY_ALLOC(p);
    HR_TRY(images_make(c, r, p, error));
    return hr_program_run(p, c, c->out[0].data, error);
}

/* ---- on a device ---- */

static hr_status pass_add(hr_resample_device *d, const hr_filter_axis *axis, hr_shape *shape,
                          int32_t dim, hr_staging *staging, hr_error *error)
{
    hr_resample_pass *pass = &d->pass[d->count];
    size_t count;

    HR_TRY(hr_device_taps_make(axis, shape->extent[dim], staging, &pass->taps, error));
    shape->extent[dim] = pass->taps.out;
    if (!hr_shape_volume(shape, &count) || count > INT64_MAX / sizeof(float))
        return too_large(error);
    if (d->count > 0)
        d->between = HR_MAX(d->between, d->pass[d->count - 1].count);
    pass->count = (int64_t)count;
    pass->inner = 1;
    for (int32_t i = dim + 1; i < shape->ndim; i++)
        pass->inner *= shape->extent[i];
    d->count++;
    return HR_STATUS_OK;
}

static hr_status passes_make(const hr_op_call *c, const hr_resampling *r, size_t total,
                             hr_resample_device *d, hr_error *error)
{
    const hr_filter_axis nothing = {.resample = {.hi = 1.0, .out = 1, .interp = HR_INTERP_NN}};
    hr_shape shape = c->in[0].shape;

    for (int32_t k = 0; k <= r->more_count; k++) {
        const hr_filter_axis *axis = axes_of(r, k);
        int32_t first = d->count;
        shape = c->in[0].shape;
        for (int32_t i = 0; i < r->axes; i++)
            if (!hr__resample_is_identity(&axis[i], shape.extent[r->first + i]))
                HR_TRY(pass_add(d, &axis[i], &shape, r->first + i, c->staging, error));
        if (d->count > first) {
            d->pass[first].first = true;
            d->pass[d->count - 1].last = true;
        }
    }
    d->sums = r->more_count > 0;
    if (d->count > 0)
        return HR_STATUS_OK;
    shape = hr_shape_make(2, (int64_t[]){1, (int64_t)total}); /* the type may change */
    d->pass[0].first = d->pass[0].last = true;
    return pass_add(d, &nothing, &shape, 0, c->staging, error);
}

hr_status hr__resample_infer(const hr_op_call *c, hr_resampling *r, hr_error *error)
{
    size_t total;

    if (!c->staging)
        return HR_STATUS_OK;
    hr_resample_device *d = hr_arena_alloc(c->arena, sizeof(*d), error);
    hr_image_program *p = hr_arena_alloc(c->arena, sizeof(*p), error);
    HR_TRY_ALLOC(d && p);
    if (!hr_shape_volume(&c->out[0].shape, &total))
        return too_large(error);
    memset(d, 0, sizeof(*d));
    r->device = d;
    if (total == 0)
        return HR_STATUS_OK;
    if (!r->images)
        return passes_make(c, r, total, d, error);
    d->images = true;
    HR_TRY(images_make(c, r, p, error));
    return hr_device_program_make(p, c->staging, &d->program, error);
}
