/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* preemphasis_filter: each element minus a part of the one before it. */
#include "ops/audio/preemphasis_filter.h"
#include "headrace/operator.h"

enum { BLOCK = 1024 }; /* elements that are converted at once, so that they stay in the cache */

static bool is_number(hr_dtype dtype)
{
    return hr_dtype_is_integer(dtype) || dtype == HR_DTYPE_FLOAT || dtype == HR_DTYPE_FLOAT64;
}

static hr_status preemphasis_check(const void *args, const hr_given *given, hr_error *error)
{
    hr_dtype dtype = (hr_dtype)((const preemphasis_args *)args)->dtype;
    (void)given;
    if (!is_number(dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "dtype must be an integer type, FLOAT or FLOAT64, but it is %s",
                       hr_dtype_name(dtype));
    return HR_STATUS_OK;
}

static hr_status preemphasis_infer(hr_op_call *c, hr_error *error)
{
    const preemphasis_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    if (!is_number(in->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be of an integer type, FLOAT or FLOAT64, but it is %s",
                       hr_dtype_name(in->dtype));
    hr_tensor_describe(&c->out[0], (hr_dtype)a->dtype, in->shape, in->layout.name);
    return HR_STATUS_OK;
}

/* Elements 1 to n - 1; `dst` and `src` begin at element 0. */
static void filter_floats(float *restrict dst, const float *restrict src, size_t n, float coeff)
{
    for (size_t i = 1; i < n; i++)
        dst[i] = preemphasis_float(src[i], src[i - 1], coeff);
}

static void filter_doubles(double *restrict dst, const double *restrict src, size_t n, float coeff)
{
    for (size_t i = 1; i < n; i++)
        dst[i] = preemphasis_double(src[i], src[i - 1], coeff);
}

/* Through blocks of FLOAT, or of FLOAT64: `v` and `r` have the element in front of the block first.
 */
static void filter_blocks(const hr_tensor *in, hr_tensor *out, size_t n, float coeff, char border)
{
    const bool wide = in->dtype == HR_DTYPE_FLOAT64;
    const hr_dtype dtype = wide ? HR_DTYPE_FLOAT64 : HR_DTYPE_FLOAT;
    const size_t size = hr_dtype_size(dtype), item = hr_dtype_size(in->dtype);
    double v[BLOCK + 1] = {0}, r[BLOCK + 1];
    int64_t first = preemphasis_before(border, 0, (int64_t)n);
    if (first >= 0)
        hr_convert(v, dtype, (const char *)in->data + (size_t)first * item, in->dtype, 1);
    for (size_t at = 0, count; at < n; at += count) {
        count = HR_MIN(n - at, (size_t)BLOCK);
        if (at > 0)
            hr_convert(v, dtype, (const char *)in->data + (at - 1) * item, in->dtype, 1);
        hr_convert((char *)v + size, dtype, (const char *)in->data + at * item, in->dtype, count);
        if (wide)
            filter_doubles(r, v, count + 1, coeff);
        else
            filter_floats((float *)r, (const float *)v, count + 1, coeff);
        hr_convert((char *)out->data + at * hr_dtype_size(out->dtype), out->dtype,
                   (const char *)r + size, dtype, count);
    }
}

static hr_status preemphasis_run(hr_op_call *c, hr_error *error)
{
    const preemphasis_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    const float coeff = a->preemph_coeff, *src = in->data;
    size_t count;
    if (!hr_shape_volume(&in->shape, &count))
        return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
    if (count == 0)
        return HR_STATUS_OK;
    if (coeff == 0.0f) {
        hr_convert(out->data, out->dtype, in->data, in->dtype, count);
    } else if (in->dtype == HR_DTYPE_FLOAT && out->dtype == HR_DTYPE_FLOAT) {
        int64_t first = preemphasis_before(a->border[0], 0, (int64_t)count);
        *(float *)out->data = preemphasis_float(src[0], first < 0 ? 0.0f : src[first], coeff);
        filter_floats(out->data, src, count, coeff);
    } else {
        filter_blocks(in, out, count, coeff, a->border[0]);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_preemphasis_filter = {
    HR_OP("preemphasis_filter"),
    .doc = "Raises high frequencies of a signal: out[i] = in[i] - `preemph_coeff` * in[i - 1]. The "
           "elements of a tensor with several dimensions are one signal, in the order of memory.",
    .devices = "cpu|gpu",
    HR_ARGS(preemphasis_args,
            HR_ARG(preemphasis_args, preemph_coeff, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_NONFINITE,
                   "0.97", "The fraction of the previous element that is subtracted."),
            HR_ARG(preemphasis_args, dtype, DTYPE, 0, "FLOAT", "Type of the output."),
            HR_ARG(preemphasis_args, border, STRING, 0, "\"clamp\"",
                   "What precedes the first element: \"clamp\": the first element itself; "
                   "\"zero\": 0; \"reflect\": the second element.",
                   .choices = "clamp|zero|reflect")),
    .in = HR_INPUTS({.name = "data"}),
    .check = preemphasis_check,
    .infer = preemphasis_infer,
    .run = preemphasis_run,
};
