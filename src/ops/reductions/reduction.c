/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* From an operator's call to accumulators. */
#include "ops/reductions/reduction.h"

#include <stdio.h>
#include <string.h>

hr_status hr__reduction_check(const void *args, uint64_t given, hr_error *error)
{
    const hr_reduction_args *a = args;

    (void)given;
    return hr__axes_check(a->axes, a->axis_names, error);
}

hr_dtype hr__reduction_wide(hr_dtype dtype)
{
    if (hr_dtype_is_float(dtype))
        return HR_DTYPE_FLOAT;
    return hr_dtype_is_signed(dtype) ? HR_DTYPE_INT64 : HR_DTYPE_UINT64;
}

static hr_status describe_shape(hr_op_call *c, hr_dtype dtype, hr_error *error)
{
    const hr_reduction_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const bool named = in->layout.name[0] != '\0';
    hr_shape shape = {0};
    hr_layout layout = {0};
    uint32_t mask;

    HR_TRY(hr__axes_mask(a->axes, a->axis_names, in, &mask, error));
    for (int32_t d = 0; d < in->shape.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (reduced && !a->keep_dims)
            continue;
        if (named)
            layout.name[shape.ndim] = in->layout.name[d];
        shape.extent[shape.ndim++] = reduced ? 1 : in->shape.extent[d];
    }
    hr_tensor_describe(&c->out[0], dtype, shape, layout.name);
    return HR_STATUS_OK;
}

hr_status hr__reduction_describe(hr_op_call *c, hr_dtype wanted, const hr_dtype *allowed,
                                 int32_t count, hr_error *error)
{
    const hr_dtype in = c->in[0].dtype;
    char names[64];
    size_t used = 0;

    if (in == HR_DTYPE_FLOAT16 || in == HR_DTYPE_FLOAT64 || in == HR_DTYPE_BOOL)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s: integers and FLOAT can be reduced; cast first",
                       hr_dtype_name(in));
    if (wanted == HR_DTYPE_NONE)
        wanted = allowed[0];
    for (int32_t i = 0; i < count; i++)
        if (allowed[i] == wanted)
            return describe_shape(c, wanted, error);
    for (int32_t i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " or " : "",
                                 hr_dtype_name(allowed[i]));
    return hr_fail(error, HR_STATUS_ERROR, "`dtype` is %s: of an input of %s the output is %s",
                   hr_dtype_name(wanted), hr_dtype_name(in), names);
}

hr_status hr__reduction_run(hr_op_call *c, hr_reduce_kind kind, const double *mean, hr_reduced *r,
                            hr_error *error)
{
    const hr_reduction_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    uint32_t mask;
    size_t bytes;

    HR_TRY(hr__axes_mask(a->axes, a->axis_names, in, &mask, error));
    r->type = hr__reduce_type(kind, in->dtype);
    hr__reduce_counts(&in->shape, mask, &r->n, &r->count);
    if (!hr_size_mul(r->n, sizeof(double), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    r->acc = hr_arena_alloc(c->arena, bytes, error);
    if (!r->acc)
        return HR_STATUS_NO_MEMORY;
    r->untouched = mask == 0;
    if (r->untouched && (kind == HR_REDUCE_MIN || kind == HR_REDUCE_MAX)) {
        hr_convert(r->acc, r->type, in->data, r->type, r->n); /* NaN and infinities stay too */
        return HR_STATUS_OK;
    }
    hr__reduce_start(kind, in->dtype, r->acc, r->n);
    hr__reduce(c->kernels, kind, in, mask, mean, r->acc);
    return HR_STATUS_OK;
}

/* `n` doubles from the arena, zeros. */
static hr_status zeros(hr_op_call *c, size_t n, double **out, hr_error *error)
{
    *out = hr_arena_alloc(c->arena, n * sizeof(double), error);
    if (!*out)
        return HR_STATUS_NO_MEMORY;
    memset(*out, 0, n * sizeof(double));
    return HR_STATUS_OK;
}

hr_status hr__reduction_squares(hr_op_call *c, hr_reduced *r, hr_error *error)
{
    const hr_dtype in = c->in[0].dtype;
    double *mean = NULL;
    size_t n = 0;

    if (hr_dtype_is_integer(in) && (hr_dtype_size(in) <= 2 || c->out[0].dtype != HR_DTYPE_FLOAT))
        return hr__reduction_run(c, HR_REDUCE_SQUARES, NULL, r, error);
    hr_shape_volume(&c->out[0].shape, &n);
    HR_TRY(zeros(c, n, &mean, error));
    return hr__reduction_run(c, HR_REDUCE_DISTANCES, mean, r, error);
}

hr_status hr__reduction_variance(hr_op_call *c, hr_reduced *r, hr_error *error)
{
    const hr_tensor *given = &c->in[1];
    size_t n = 0, m = 0;
    double *mean, *v;

    hr_shape_volume(&c->out[0].shape, &n);
    hr_shape_volume(&given->shape, &m);
    if (given->dtype != HR_DTYPE_FLOAT || m != n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the mean has %zu elements of %s: it must have %zu of FLOAT, one for each "
                       "of the output's",
                       m, hr_dtype_name(given->dtype), n);
    HR_TRY(zeros(c, n, &mean, error));
    hr_convert(mean, HR_DTYPE_FLOAT64, given->data, HR_DTYPE_FLOAT, n);
    HR_TRY(hr__reduction_run(c, HR_REDUCE_DISTANCES, mean, r, error));
    v = r->acc;
    double by = (double)r->count - (double)((const hr_reduction_args *)c->args)->ddof;
    for (size_t i = 0; i < n; i++)
        v[i] = r->untouched ? 0.0 : v[i] / by; /* without axes an element is its own mean */
    return HR_STATUS_OK;
}

double *hr__reduced_doubles(hr_reduced *r)
{
    hr_convert(r->acc, HR_DTYPE_FLOAT64, r->acc, r->type, r->n);
    r->type = HR_DTYPE_FLOAT64;
    return r->acc;
}

void hr__reduced_mean(hr_reduced *r, hr_dtype out)
{
    int64_t *with_sign = r->acc;
    uint64_t *without = r->acc;

    if (out == HR_DTYPE_FLOAT) {
        double *v = hr__reduced_doubles(r);
        for (size_t i = 0; i < r->n; i++)
            v[i] /= (double)r->count;
        return;
    }
    for (size_t i = 0; i < r->n && r->count > 0; i++) {
        if (r->type == HR_DTYPE_INT64)
            with_sign[i] /= (int64_t)r->count;
        else
            without[i] /= r->count;
    }
}
