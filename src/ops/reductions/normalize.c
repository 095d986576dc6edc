/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* normalize: subtracts means and divides by standard deviations, which are given or computed. */
#include "ops/reductions/normalize.h"
#include "ops/reductions/scale_shift.h"

#include <string.h>

typedef struct normalize_args {
    hr_ints axes;
    const char *axis_names;
    int32_t batch, ddof, dtype;
    float epsilon, scale, shift;
    hr_floats mean, stddev;
} normalize_args;

#define GIVEN(field, text)                                                                         \
    HR_ARG(normalize_args, field, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK,  \
           NULL, text)

static hr_status normalize_check(const void *args, const hr_given *given, hr_error *error)
{
    const normalize_args *a = args;
    const bool mean = hr_arg_given(given, "mean"), stddev = hr_arg_given(given, "stddev");
    /* A list of several numbers is a tensor that is the same for all samples. */
    const bool tensors =
        (mean && !(a->mean.v && a->mean.n == 1)) || (stddev && !(a->stddev.v && a->stddev.n == 1));

    if (a->axes.v && a->axes.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "`axes` is empty: there must be one at least");
    if (mean && stddev && !tensors && (a->axes.v || a->axis_names))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "`axes` and `axis_names` cannot be given when `mean` and `stddev` are single "
            "numbers");
    if ((a->mean.v && a->mean.n == 0) || (a->stddev.v && a->stddev.n == 0))
        return hr_fail(error, HR_STATUS_ERROR, "`mean` or `stddev` has no elements");
    if (a->batch && tensors)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`mean` and `stddev` must be one number each where `batch` is True");
    return HR_STATUS_OK;
}

static bool normalize_whole(const void *args, const hr_given *given)
{
    (void)given;
    return ((const normalize_args *)args)->batch;
}

static bool known_type(hr_dtype dtype)
{
    return dtype == HR_DTYPE_FLOAT || (hr_dtype_is_integer(dtype) && hr_dtype_size(dtype) <= 4);
}

/* Number of elements that are left when the axes of `mask` are reduced. */
static size_t kept(const hr_shape *shape, uint32_t mask)
{
    hr_reduce_shape reduced;

    hr__reduce_shape(shape, mask, &reduced);
    return reduced.outputs;
}

/* The axes to normalise if a mean has `n` elements. Fails if no axes fit, or several sets of them.
 */
static hr_status infer_axes(const hr_shape *shape, size_t n, uint32_t *mask, hr_error *error)
{
    uint32_t all = (1u << shape->ndim) - 1, ones = 0;
    int found = 0;

    for (int32_t d = 0; d < shape->ndim; d++)
        ones |= shape->extent[d] == 1 ? 1u << d : 0;
    for (uint32_t some = 0; some <= all; some++)
        if ((some & ones) == ones && kept(shape, some) == n) {
            *mask = some;
            found++;
        }
    if (found == 1)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "means or deviations of %zu elements fit %s of the input: give `axes`", n,
                   found ? "several sets of axes" : "no axes");
}

static hr_status find_mask(const hr_op_call *c, uint32_t *mask, hr_error *error)
{
    const normalize_args *a = c->args;
    const hr_shape *shape = &c->in[0].shape;
    const size_t n_mean = a->mean.v ? (size_t)a->mean.n : 1;
    const size_t n_stddev = a->stddev.v ? (size_t)a->stddev.n : 1;
    hr_status status = hr__axes_mask(a->axes, a->axis_names, &c->in[0], mask, error);

    if (status != HR_STATUS_OK && error)
        error->status = HR_STATUS_ERROR;
    if (status != HR_STATUS_OK)
        return HR_STATUS_ERROR;
    if (!a->axes.v && !a->axis_names && (n_mean != 1 || n_stddev != 1))
        HR_TRY(infer_axes(shape, n_mean != 1 ? n_mean : n_stddev, mask, error));
    const size_t n = kept(shape, *mask);
    if ((n_mean != 1 && n_mean != n) || (n_stddev != 1 && n_stddev != n))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`mean` or `stddev` has %zu elements: there must be %zu",
                       n_mean != 1 && n_mean != n ? n_mean : n_stddev, n);
    return HR_STATUS_OK;
}

/* One value of `list` per group of elements; NULL if it is not given. */
static hr_status spread(const hr_op_call *c, hr_floats list, size_t n, float **out, hr_error *error)
{
    *out = NULL;
    if (!list.v)
        return HR_STATUS_OK;
    *out = hr_arena_alloc(c->arena, n * sizeof(float), error);
    for (size_t i = 0; i < n && *out; i++)
        (*out)[i] = list.v[list.n == 1 ? 0 : i];
    return *out ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* The factor that corresponds to a given deviation. */
static float given_factor(const normalize_args *a, double stddev)
{
    const double epsilon = (double)a->epsilon;
    const double inverse = epsilon != 0.0 ? 1.0 / sqrt(stddev * stddev + epsilon) : 1.0 / stddev;

    return (float)(inverse * (double)a->scale);
}

static hr_status normalize_infer(hr_op_call *c, hr_error *error)
{
    const normalize_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const hr_dtype dtype = (hr_dtype)a->dtype;
    hr_normalization *m = c->memo = hr_arena_alloc(c->arena, sizeof(*m), error);
    float *mean, *factor;
    uint32_t mask;
    size_t bytes;

    HR_TRY_ALLOC(m);
    if (!known_type(in->dtype) || !known_type(dtype))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "%s cannot be normalised to %s: both must be FLOAT or an integer of up to 32 bits",
            hr_dtype_name(in->dtype), hr_dtype_name(dtype));
    HR_TRY(find_mask(c, &mask, error));
    hr_tensor_describe(&c->out[0], dtype, in->shape, in->layout.name);
    *m = (hr_normalization){.epsilon = (double)a->epsilon,
                            .scale = (double)a->scale,
                            .ddof = (double)a->ddof,
                            .shift = a->shift,
                            .mask = mask,
                            .batch = a->batch != 0};
    hr__reduce_shape(&in->shape, mask, &m->shape);
    if (!hr_size_mul(m->shape.outputs, sizeof(double), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    HR_TRY(spread(c, a->mean, m->shape.outputs, &mean, error));
    HR_TRY(spread(c, a->stddev, m->shape.outputs, &factor, error));
    for (size_t i = 0; i < m->shape.outputs && factor; i++)
        factor[i] = given_factor(a, (double)factor[i]);
    m->mean = mean;
    m->factor = factor;
    return HR_STATUS_OK;
}

/* Sums of each group over all samples, and the number of elements in each sum. */
static hr_status sum_all(const hr_op_call *calls, int32_t n, hr_reduce_kind kind,
                         const double *mean, double **sums, double *count, hr_error *error)
{
    const size_t groups = ((const hr_normalization *)calls[0].memo)->shape.outputs;
    double *own = hr_arena_alloc(calls[0].arena, groups * sizeof(double), error);

    *sums = hr_arena_alloc(calls[0].arena, groups * sizeof(double), error);
    HR_TRY_ALLOC(own && *sums);
    memset(*sums, 0, groups * sizeof(double));
    *count = 0.0;
    for (int32_t i = 0; i < n; i++) {
        const hr_normalization *m = calls[i].memo;
        const hr_tensor *in = &calls[i].in[0];
        hr__reduce(calls[i].kernels, kind, in->data, in->dtype, &m->shape, mean, own);
        for (size_t k = 0; k < groups; k++)
            (*sums)[k] += own[k];
        *count += (double)m->shape.inputs;
    }
    return HR_STATUS_OK;
}

/* The means and factors that are not given. */
static hr_status measure(hr_op_call *calls, int32_t n, const float **mean, const float **factor,
                         hr_error *error)
{
    const hr_normalization *m = calls[0].memo;
    const size_t groups = m->shape.outputs;
    float *means = hr_arena_alloc(calls[0].arena, groups * sizeof(float), error);
    float *factors = hr_arena_alloc(calls[0].arena, groups * sizeof(float), error);
    double *centres = hr_arena_alloc(calls[0].arena, groups * sizeof(double), error);
    double *sums, count;

    HR_TRY_ALLOC(means && factors && centres);
    *mean = m->mean ? m->mean : means;
    *factor = m->factor ? m->factor : factors;
    if (!m->mean) {
        HR_TRY(sum_all(calls, n, HR_REDUCE_TOTAL, NULL, &sums, &count, error));
        for (size_t i = 0; i < groups; i++)
            means[i] = (float)(sums[i] / count);
    }
    if (m->factor)
        return HR_STATUS_OK;
    hr_convert(centres, HR_DTYPE_FLOAT64, *mean, HR_DTYPE_FLOAT, groups);
    HR_TRY(sum_all(calls, n, HR_REDUCE_DISTANCES, centres, &sums, &count, error));
    for (size_t i = 0; i < groups; i++)
        factors[i] = normalization_factor(sums[i], count - m->ddof, m->epsilon, m->scale);
    return HR_STATUS_OK;
}

/* Normalises samples that share their means and factors. */
static hr_status normalize_together(hr_op_call *calls, int32_t n, hr_error *error)
{
    const float *mean, *factor;

    HR_TRY(measure(calls, n, &mean, &factor, error));
    for (int32_t i = 0; i < n; i++) {
        const hr_normalization *m = calls[i].memo;
        hr__scale_shift(calls[i].kernels, &calls[i].in[0], &calls[i].out[0], &m->shape, mean,
                        factor, m->shift);
    }
    return HR_STATUS_OK;
}

static hr_status normalize_run(hr_op_call *c, hr_error *error)
{
    return normalize_together(c, 1, error);
}

static hr_status normalize_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    char text[256];
    size_t bytes;

    for (int32_t i = 0; i < n; i++) {
        HR_TRY(normalize_infer(&calls[i], error));
        if (normalization_unlike(calls, i, text, sizeof(text)))
            return hr_fail(error, HR_STATUS_ERROR, "%s", text);
        if (!hr_tensor_bytes(&calls[i].out[0], &bytes))
            return hr_fail(error, HR_STATUS_LIMIT, "the output is too large");
        calls[i].out[0].data = hr_arena_alloc(calls[i].arena, bytes, error);
        HR_TRY_ALLOC(calls[i].out[0].data);
    }
    return normalize_together(calls, n, error);
}

const hr_op_def hr_op_normalize = {
    HR_OP("normalize"),
    .doc = "Subtracts means and divides by standard deviations along axes: (x - mean) / stddev * "
           "scale + shift, with stddev = sqrt(variance + epsilon). Where the data does not vary, "
           "the result is `shift`.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        normalize_args, HR_AXES_ARG_DEFS(normalize_args),
        HR_ARG(normalize_args, batch, BOOL, 0, "False",
               "Compute one mean and standard deviation for all samples of the batch."),
        HR_ARG(normalize_args, ddof, INT, 0, "0",
               "Delta degrees of freedom: subtracted from the number of elements by which the "
               "variance is divided."),
        HR_ARG(normalize_args, dtype, DTYPE, 0, "FLOAT",
               "Type of the output: FLOAT, or an integer type of up to 32 bits, to which results "
               "are rounded."),
        HR_ARG(normalize_args, epsilon, FLOAT, 0, "0.0", "Added to the variance."),
        GIVEN(mean, "Means to subtract instead of those of the data: one number, or a tensor with "
                    "the extents of the input, 1 in the axes that are normalized."),
        HR_ARG(normalize_args, scale, FLOAT, 0, "1.0", "Standard deviation of the results."),
        HR_ARG(normalize_args, shift, FLOAT, 0, "0.0", "Mean of the results."),
        GIVEN(stddev, "Standard deviations to divide by instead of those of the data, as `mean`.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = normalize_check,
    .infer = normalize_infer,
    .run = normalize_run,
    .run_batch = normalize_batch,
    .whole_batch = normalize_whole,
};
