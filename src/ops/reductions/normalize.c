/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* normalize: subtracts means and divides by standard deviations, which are measured or given. */
#include <math.h>

#include "ops/given.h"
#include "ops/reductions/scale_shift.h"

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

static const hr_arg_def normalize_arg_defs[] = {
    HR_AXES_ARG_DEFS(normalize_args),
    HR_ARG(normalize_args, batch, BOOL, 0, "False",
           "Whether all samples of the batch share their means and deviations."),
    HR_ARG(normalize_args, ddof, INT, 0, "0",
           "What is taken from the number of elements before the variance is divided by it."),
    HR_ARG(normalize_args, dtype, DTYPE, 0, "FLOAT",
           "Type of the output: FLOAT or integers of up to 32 bits, to which results are rounded."),
    HR_ARG(normalize_args, epsilon, FLOAT, 0, "0.0", "Added to the variance."),
    GIVEN(mean, "Means to subtract instead of those of the data: one number, or a tensor a sample "
                "with the extents of the input, 1 in the axes that are normalised."),
    HR_ARG(normalize_args, scale, FLOAT, 0, "1.0", "The results' standard deviation."),
    HR_ARG(normalize_args, shift, FLOAT, 0, "0.0", "The results' mean."),
    GIVEN(stddev, "Standard deviations to divide by instead of those of the data, as `mean`."),
    HR_ARG_END};

static hr_status normalize_check(const void *args, uint64_t given, hr_error *error)
{
    const normalize_args *a = args;
    const hr_arg_def *d = normalize_arg_defs;
    const bool mean = hr__arg_given(d, given, "mean"), stddev = hr__arg_given(d, given, "stddev");
    const bool tensors = (mean && !a->mean.v) || (stddev && !a->stddev.v);

    HR_TRY(hr__axes_check(a->axes, a->axis_names, error));
    if (a->axes.v && a->axes.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "`axes` is empty: there must be one at least");
    if (mean && stddev && !tensors && (a->axes.v || a->axis_names))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`mean` and `stddev` are numbers: axes then mean nothing");
    if ((a->mean.v && a->mean.n != 1) || (a->stddev.v && a->stddev.n != 1))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`mean` and `stddev` must be one number each, or tensors");
    if (a->batch && tensors)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`mean` and `stddev` must be constants where `batch` is True");
    return HR_STATUS_OK;
}

static bool normalize_whole(const void *args, uint64_t given)
{
    (void)given;
    return ((const normalize_args *)args)->batch;
}

static bool known_type(hr_dtype dtype)
{
    return dtype == HR_DTYPE_FLOAT || (hr_dtype_is_integer(dtype) && hr_dtype_size(dtype) <= 4);
}

/* Elements without the axes of `mask`. */
static size_t kept(const hr_shape *shape, uint32_t mask)
{
    size_t outputs, inputs;

    hr__reduce_counts(shape, mask, &outputs, &inputs);
    return outputs;
}

/* The axes that a tensor of `n` elements leaves: the only ones that fit. */
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
                   found ? "several axes" : "no axes");
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

static hr_status normalize_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const hr_dtype dtype = (hr_dtype)((const normalize_args *)c->args)->dtype;
    uint32_t mask;

    if (!known_type(in->dtype) || !known_type(dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s cannot be normalised to %s: FLOAT and integers of up to 32 bits can",
                       hr_dtype_name(in->dtype), hr_dtype_name(dtype));
    HR_TRY(find_mask(c, &mask, error));
    hr_tensor_describe(&c->out[0], dtype, in->shape, in->layout.name);
    return HR_STATUS_OK;
}

/* Means and factors, an element for each group of elements that share them. */
typedef struct statistics {
    uint32_t mask;
    size_t n;
    double count; /* elements of a group, in all samples */
    float *mean, *factor;
    double *sums, *centres;
} statistics;

static hr_status statistics_alloc(const hr_op_call *c, statistics *s, hr_error *error)
{
    size_t bytes;

    HR_TRY(find_mask(c, &s->mask, error));
    s->n = kept(&c->in[0].shape, s->mask);
    if (!hr_size_mul(s->n, sizeof(double), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    s->mean = hr_arena_alloc(c->arena, bytes, error);
    s->factor = hr_arena_alloc(c->arena, bytes, error);
    s->sums = hr_arena_alloc(c->arena, bytes, error);
    s->centres = hr_arena_alloc(c->arena, bytes, error);
    return s->mean && s->factor && s->sums && s->centres ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void sum_all(const hr_op_call *calls, int32_t n, hr_reduce_kind kind, statistics *s)
{
    size_t outputs, inputs;

    s->count = 0.0;
    hr__reduce_start(kind, calls[0].in[0].dtype, s->sums, s->n);
    for (int32_t i = 0; i < n; i++) {
        hr__reduce(calls[i].kernels, kind, &calls[i].in[0], s->mask, s->centres, s->sums);
        hr__reduce_counts(&calls[i].in[0].shape, s->mask, &outputs, &inputs);
        s->count += (double)inputs;
    }
}

static float part(hr_floats list, size_t i)
{
    return list.v[list.n == 1 ? 0 : i];
}

static void measure(const hr_op_call *calls, int32_t n, statistics *s)
{
    const normalize_args *a = calls[0].args;
    const double epsilon = (double)a->epsilon;

    if (!a->mean.v)
        sum_all(calls, n, HR_REDUCE_TOTAL, s);
    for (size_t i = 0; i < s->n; i++) {
        s->mean[i] = a->mean.v ? part(a->mean, i) : (float)(s->sums[i] / s->count);
        s->centres[i] = (double)s->mean[i];
    }
    if (!a->stddev.v)
        sum_all(calls, n, HR_REDUCE_DISTANCES, s);
    const double by = s->count - (double)a->ddof;
    for (size_t i = 0; i < s->n; i++) {
        double factor = 0.0; /* of what does not vary */
        if (a->stddev.v) {
            double given = (double)part(a->stddev, i);
            factor = epsilon != 0.0 ? 1.0 / sqrt(given * given + epsilon) : 1.0 / given;
        } else if (by > 0.0) {
            double variance = s->sums[i] / by + epsilon;
            factor = variance != 0.0 ? 1.0 / sqrt(variance) : 0.0;
        }
        s->factor[i] = (float)(factor * (double)a->scale);
    }
}

static void store(hr_op_call *c, const statistics *s)
{
    hr__scale_shift(c->kernels, &c->in[0], &c->out[0], s->mask, s->mean, s->factor,
                    ((const normalize_args *)c->args)->shift);
}

static hr_status normalize_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        statistics s;
        HR_TRY(statistics_alloc(&calls[i], &s, error));
        measure(&calls[i], 1, &s);
        store(&calls[i], &s);
    }
    return HR_STATUS_OK;
}

/* Extents of axes that are not normalised must be those of the first sample. */
static hr_status check_alike(const hr_op_call *calls, int32_t i, uint32_t mask, hr_error *error)
{
    const hr_tensor *first = &calls[0].in[0], *in = &calls[i].in[0];

    if (in->dtype != first->dtype || in->shape.ndim != first->shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "sample %d differs in type or dimensions", (int)i);
    for (int32_t d = 0; d < in->shape.ndim; d++)
        if (!(mask >> d & 1) && in->shape.extent[d] != first->shape.extent[d])
            return hr_fail(error, HR_STATUS_ERROR,
                           "sample %d has %lld elements along axis %d, the first one %lld: they "
                           "must be the same where an axis is not normalised",
                           (int)i, (long long)in->shape.extent[d], (int)d,
                           (long long)first->shape.extent[d]);
    return HR_STATUS_OK;
}

static hr_status normalize_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    statistics s = {0};
    size_t bytes;

    for (int32_t i = 0; i < n; i++) {
        HR_TRY(normalize_infer(&calls[i], error));
        if (i == 0)
            HR_TRY(statistics_alloc(&calls[0], &s, error));
        HR_TRY(check_alike(calls, i, s.mask, error));
        if (!hr_tensor_bytes(&calls[i].out[0], &bytes))
            return hr_fail(error, HR_STATUS_LIMIT, "the output is too large");
        calls[i].out[0].data = hr_arena_alloc(calls[i].arena, bytes, error);
        if (!calls[i].out[0].data)
            return HR_STATUS_NO_MEMORY;
    }
    measure(calls, n, &s);
    for (int32_t i = 0; i < n; i++)
        store(&calls[i], &s);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_normalize = {
    HR_OP_ABI,
    .name = "normalize",
    .doc =
        "Subtracts means and divides by standard deviations along axes: (x - mean) / stddev * "
        "scale + shift, with stddev = sqrt(variance + epsilon). What does not vary gives `shift`.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = normalize_arg_defs,
    .args_size = sizeof(normalize_args),
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = normalize_check,
    .infer = normalize_infer,
    .run_cpu = normalize_run,
    .run_batch = normalize_batch,
    .whole_batch = normalize_whole,
};
