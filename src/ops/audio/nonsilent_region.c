/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* nonsilent_region: the part of a signal between leading and trailing silence. */
#include "ops/audio/nonsilent_region.h"
#include "headrace/operator.h"

#include <math.h>
#include <string.h>

enum { LANES = 4 }; /* intervals that are summed side by side: a sum waits for the one before it */

static hr_status nonsilent_check(const void *args, const hr_given *given, hr_error *error)
{
    const nonsilent_args *a = args;
    (void)given;
    if (a->window_length < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`window_length` is %d; it must be positive",
                       a->window_length);
    if (a->reference_power <= 0.0f)
        return hr_fail(error, HR_STATUS_ERROR, "`reference_power` is %g; it must be positive",
                       (double)a->reference_power);
    return HR_STATUS_OK;
}

static hr_status nonsilent_infer(hr_op_call *c, hr_error *error)
{
    const nonsilent_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const int32_t interval = a->reset_interval;
    if (in->dtype != HR_DTYPE_FLOAT && !hr_dtype_is_integer(in->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be of an integer type or FLOAT, but it is %s",
                       hr_dtype_name(in->dtype));
    if (in->shape.ndim != 1)
        return hr_fail(error, HR_STATUS_ERROR, "the input must have one dimension, but it has %d",
                       (int)in->shape.ndim);
    if (in->shape.extent[0] > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the signal has more than %d elements", INT32_MAX);
    if (in->dtype == HR_DTYPE_FLOAT && interval != -1 &&
        (interval < 1 || interval % a->window_length != 0))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`reset_interval` is %d; it must be -1 or a multiple of `window_length`, %d",
                       interval, a->window_length);
    for (int32_t k = 0; k < 2; k++)
        hr_tensor_describe(&c->out[k], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

/* ---- means ---- */

/* `in`: the signal behind window - 1 zeros. The intervals begin at `at`, and the last elements of
 * the signal are followed by zeros. */
static void means_of_floats(const float *restrict in, const int64_t at[LANES], int64_t interval,
                            int64_t window, float factor, float *restrict out)
{
    const float *src[LANES];
    float *dst[LANES], sum[LANES] = {0};
    for (int l = 0; l < LANES; l++) {
        src[l] = in + at[l];
        dst[l] = out + at[l];
    }
    for (int64_t k = 0; k < window; k++)
        for (int l = 0; l < LANES; l++)
            sum[l] += src[l][k] * src[l][k];
    for (int l = 0; l < LANES; l++)
        dst[l][0] = sum[l] * factor;
    for (int64_t i = 1; i < interval; i++)
        for (int l = 0; l < LANES; l++) {
            const float next = src[l][i + window - 1], past = src[l][i - 1];
            sum[l] = (sum[l] - past * past) + next * next;
            dst[l][i] = sum[l] * factor;
        }
}

static hr_status float_means(const hr_op_call *c, int64_t n, int64_t window, float **out,
                             hr_error *error)
{
    const hr_dtype dtype = c->in[0].dtype;
    const int32_t reset = ((const nonsilent_args *)c->args)->reset_interval;
    const bool resets = dtype == HR_DTYPE_FLOAT && reset != -1;
    const int64_t interval = resets ? HR_MIN(reset, n) : n;
    const int64_t intervals = HR_DIVIDE_UP(n, interval), room = intervals * interval;
    float *in = hr_arena_alloc(c->arena, (size_t)(room + window - 1) * sizeof(*in), error);
    *out = hr_arena_alloc(c->arena, (size_t)room * sizeof(**out), error);
    HR_TRY_ALLOC(in && *out);
    memset(in, 0, (size_t)(window - 1) * sizeof(*in));
    hr_convert(in + window - 1, HR_DTYPE_FLOAT, c->in[0].data, dtype, (size_t)n);
    memset(in + window - 1 + n, 0, (size_t)(room - n) * sizeof(*in));
    for (int64_t first = 0; first < intervals; first += LANES) {
        int64_t at[LANES];
        for (int64_t l = 0; l < LANES; l++)
            at[l] = HR_MIN(first + l, intervals - 1) * interval;
        means_of_floats(in, at, interval, window, 1.0f / (float)window, *out);
    }
    return HR_STATUS_OK;
}

static int64_t square_at(const hr_tensor *in, int64_t i)
{
    int64_t v = hr_element_int(in->data, in->dtype, (size_t)i);
    return v * v;
}

static hr_status exact_means(const hr_op_call *c, int64_t n, int64_t window, float **out,
                             hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const float factor = 1.0f / (float)window;
    int64_t sum = 0;
    float *means = *out = hr_arena_alloc(c->arena, (size_t)n * sizeof(*means), error);
    HR_TRY_ALLOC(means);
    for (int64_t i = 0; i < n; i++) {
        sum += square_at(in, i) - (i >= window ? square_at(in, i - window) : 0);
        means[i] = (float)sum * factor;
    }
    return HR_STATUS_OK;
}

/* ---- the region ---- */

/* NaN if the first one is NaN; others are passed over. */
static float largest(const float *means, int64_t n)
{
    float max = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        max = means[i] > max ? means[i] : max;
    return means[0] != means[0] ? means[0] : max;
}

static hr_status nonsilent_run(hr_op_call *c, hr_error *error)
{
    const nonsilent_args *a = c->args;
    const int64_t n = c->in[0].shape.extent[0], window = HR_MIN(a->window_length, n);
    int32_t *begin = c->out[0].data, *length = c->out[1].data;
    float *means = NULL;
    *begin = *length = 0;
    if (n == 0)
        return HR_STATUS_OK;
    if (hr_dtype_is_integer(c->in[0].dtype) && hr_dtype_size(c->in[0].dtype) <= 2)
        HR_TRY(exact_means(c, n, window, &means, error));
    else
        HR_TRY(float_means(c, n, window, &means, error));
    const bool has_reference = a->reference_power == a->reference_power;
    const float reference = has_reference ? a->reference_power : largest(means, n);
    const float least = reference * (float)hr_pow(10.0, (double)a->cutoff_db / 10.0);
    int64_t first = 0, last = n - 1;
    while (first < n && !(means[first] >= least))
        first++;
    if (first == n)
        return HR_STATUS_OK;
    while (!(means[last] >= least))
        last--;
    first = HR_MAX(first - (window - 1), 0);
    *begin = (int32_t)first;
    *length = (int32_t)(last + 1 - first);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_nonsilent_region = {
    HR_OP("nonsilent_region"),
    .doc = "Finds where a signal is not silent: the first element and the number of elements "
           "between leading and trailing silence. Both are 0 if all of it is silent.",
    .devices = "cpu|gpu",
    HR_ARGS(nonsilent_args,
            HR_ARG(nonsilent_args, cutoff_db, FLOAT, 0, "-60.0",
                   "Power relative to `reference_power`, in dB, below which the signal is silent."),
            HR_ARG(nonsilent_args, reference_power, FLOAT, HR_ARG_OPTIONAL, "0.0",
                   "The power that is 0 dB; by default the largest power of the sample."),
            HR_ARG(nonsilent_args, reset_interval, INT, 0, "8192",
                   "Number of elements after which the moving sum of a FLOAT signal is computed "
                   "anew, a multiple of `window_length`; -1: never."),
            HR_ARG(nonsilent_args, window_length, INT, 0, "2048",
                   "Number of elements whose mean power is compared.")),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"begin"}, {"length"}),
    .check = nonsilent_check,
    .infer = nonsilent_infer,
    .run = nonsilent_run,
};
