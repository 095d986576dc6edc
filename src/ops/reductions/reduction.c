/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of the reductions. */
#include "ops/reductions/reduction.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    hr_reduction *m = c->memo = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
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
    *m = (hr_reduction){.ddof = a->ddof, .untouched = mask == 0};
    hr__reduce_shape(&in->shape, mask, &m->shape);
    return HR_STATUS_OK;
}

hr_status hr__reduction_describe(hr_op_call *c, int32_t wanted, const hr_dtype *allowed,
                                 int32_t count, hr_error *error)
{
    const hr_dtype in = c->in[0].dtype;
    char names[64];
    size_t used = 0;

    if (in == HR_DTYPE_FLOAT16 || in == HR_DTYPE_FLOAT64 || in == HR_DTYPE_BOOL)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input has type %s; only integers and FLOAT can be reduced: cast it first",
            hr_dtype_name(in));
    if (wanted == HR_DTYPE_NONE)
        wanted = allowed[0];
    for (int32_t i = 0; i < count; i++)
        if ((int32_t)allowed[i] == wanted)
            return describe_shape(c, allowed[i], error);
    for (int32_t i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " or " : "",
                                 hr_dtype_name(allowed[i]));
    return hr_fail(error, HR_STATUS_ERROR, "`dtype` is %s; for an input of type %s it must be %s",
                   hr_dtype_name((hr_dtype)wanted), hr_dtype_name(in), names);
}

void hr__reduction_how(hr_op_call *c, hr_reduce_kind kind, hr_reduction_end end)
{
    hr_reduction *m = c->memo;

    m->kind = kind;
    m->end = end;
    m->type = hr__reduce_type(kind, c->in[0].dtype);
}

hr_reduce_kind hr__reduction_squares(const hr_op_call *c)
{
    const hr_dtype in = c->in[0].dtype;
    const bool exact =
        hr_dtype_is_integer(in) && (hr_dtype_size(in) <= 2 || c->out[0].dtype != HR_DTYPE_FLOAT);

    return exact ? HR_REDUCE_SQUARES : HR_REDUCE_DISTANCES;
}

hr_status hr__reduction_about_mean(hr_op_call *c, hr_reduction_end end, hr_error *error)
{
    const hr_dtype allowed = HR_DTYPE_FLOAT;
    const hr_reduction_args *a = c->args;
    const hr_tensor *mean = &c->in[1];
    size_t n = 0, m = 0;

    HR_TRY(hr__reduction_describe(c, HR_DTYPE_NONE, &allowed, 1, error));
    if (c->in[0].shape.ndim == 0 && !a->axes.v) /* the only element, along all axes */
        ((hr_reduction *)c->memo)->untouched = false;
    hr_shape_volume(&c->out[0].shape, &n);
    hr_shape_volume(&mean->shape, &m);
    if (mean->dtype != HR_DTYPE_FLOAT || m != n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the mean has %zu elements of type %s; it must have %zu elements of type "
                       "FLOAT, one for each element of the output",
                       m, hr_dtype_name(mean->dtype), n);
    hr__reduction_how(c, HR_REDUCE_DISTANCES, end);
    return HR_STATUS_OK;
}

/* ---- running ---- */

/* The means for DISTANCES; NULL for other reductions. */
static hr_status find_mean(hr_op_call *c, size_t bytes, double **mean, hr_error *error)
{
    const hr_reduction *m = c->memo;

    *mean = NULL;
    if (m->kind != HR_REDUCE_DISTANCES)
        return HR_STATUS_OK;
    *mean = hr_arena_alloc(c->arena, bytes, error);
    HR_TRY_ALLOC(*mean);
    if (c->n_in > 1)
        hr_convert(*mean, HR_DTYPE_FLOAT64, c->in[1].data, HR_DTYPE_FLOAT, m->shape.outputs);
    else
        memset(*mean, 0, bytes);
    return HR_STATUS_OK;
}

/* Converts each number as C does; only the low bits remain. */
static void store_wrapped(hr_tensor *out, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (hr_dtype_size(out->dtype)) {
        case 1:
            ((uint8_t *)out->data)[i] = (uint8_t)v[i];
            break;
        case 2:
            ((uint16_t *)out->data)[i] = (uint16_t)v[i];
            break;
        case 4:
            ((uint32_t *)out->data)[i] = (uint32_t)v[i];
            break;
        default:
            ((uint64_t *)out->data)[i] = v[i];
        }
    }
}

/* Divides by the number of elements: doubles if the output is FLOAT, otherwise integers. Returns
 * their type. */
static hr_dtype divide(const hr_reduction *m, hr_dtype out, void *acc)
{
    const size_t n = m->shape.outputs, count = m->shape.inputs;
    int64_t *with_sign = acc;
    uint64_t *without = acc;
    double *v = acc;

    if (out == HR_DTYPE_FLOAT) {
        hr_convert(v, HR_DTYPE_FLOAT64, acc, m->type, n);
        for (size_t i = 0; i < n; i++)
            v[i] /= (double)count;
        return HR_DTYPE_FLOAT64;
    }
    for (size_t i = 0; i < n && count > 0; i++) {
        if (m->type == HR_DTYPE_INT64)
            with_sign[i] /= (int64_t)count;
        else
            without[i] /= count;
    }
    return m->type;
}

static void store_root(const hr_reduction *m, hr_tensor *out, void *acc)
{
    const size_t n = m->shape.outputs;
    const hr_dtype type = divide(m, out->dtype, acc);
    double *v = acc;

    hr_convert(v, HR_DTYPE_FLOAT64, acc, type, n);
    for (size_t i = 0; i < n; i++)
        v[i] = out->dtype == HR_DTYPE_FLOAT ? sqrt(v[i]) : floor(sqrt(v[i]));
    hr_convert(out->data, out->dtype, v, HR_DTYPE_FLOAT64, n);
}

static void store_about_mean(const hr_reduction *m, hr_tensor *out, double *v)
{
    const size_t n = m->shape.outputs;
    const double by = (double)m->shape.inputs - (double)m->ddof;

    for (size_t i = 0; i < n; i++)
        v[i] = m->untouched ? 0.0 : v[i] / by; /* without axes, an element is its own mean */
    for (size_t i = 0; i < n && m->end == HR_REDUCTION_END_DEVIATION; i++)
        v[i] = sqrt(v[i]);
    hr_convert(out->data, out->dtype, v, HR_DTYPE_FLOAT64, n);
}

static void store(const hr_reduction *m, hr_tensor *out, void *acc)
{
    switch (m->end) {
    case HR_REDUCTION_END_VALUE:
        if (out->dtype == HR_DTYPE_FLOAT || out->dtype == m->type)
            hr_convert(out->data, out->dtype, acc, m->type, m->shape.outputs);
        else
            store_wrapped(out, acc, m->shape.outputs);
        break;
    case HR_REDUCTION_END_MEAN:
        hr_convert(out->data, out->dtype, acc, divide(m, out->dtype, acc), m->shape.outputs);
        break;
    case HR_REDUCTION_END_ROOT:
        store_root(m, out, acc);
        break;
    default:
        store_about_mean(m, out, acc);
    }
}

hr_status hr__reduction_run(hr_op_call *c, hr_error *error)
{
    const hr_reduction *m = c->memo;
    const hr_tensor *in = &c->in[0];
    const bool extreme = m->kind == HR_REDUCE_MIN || m->kind == HR_REDUCE_MAX;
    size_t bytes;
    double *mean;

    if (extreme && m->untouched) { /* NaN and infinities are kept */
        hr_convert(c->out[0].data, m->type, in->data, m->type, m->shape.outputs);
        return HR_STATUS_OK;
    }
    if (!hr_size_mul(m->shape.outputs, sizeof(double), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    void *acc = hr_arena_alloc(c->arena, bytes, error);
    HR_TRY_ALLOC(acc);
    HR_TRY(find_mean(c, bytes, &mean, error));
    hr__reduce(c->kernels, m->kind, in->data, in->dtype, &m->shape, mean, acc);
    store(m, &c->out[0], acc);
    return HR_STATUS_OK;
}
