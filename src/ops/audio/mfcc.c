/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mfcc: cosine transforms of the logarithms of mel spectra. */
#include "ops/audio/mfcc.h"
#include "kernels/kernels.h"

#include <math.h>

#define MOST_COSINES (1 << 24)
#define TILE 256 /* columns that are summed before the next ones */

static hr_status mfcc_check(const void *args, const hr_given *given, hr_error *error)
{
    const mfcc_args *a = args;
    (void)given;
    if (a->n_mfcc < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`n_mfcc` is %d; it must be positive", a->n_mfcc);
    if (a->dct_type < 1 || a->dct_type > 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Unsupported DCT type: %d. Supported types are: 1, 2, 3, 4", a->dct_type);
    if (a->dct_type == 1 && a->normalize)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Ortho-normalization is not supported for DCT type I");
    if (a->axis < 0)
        return hr_fail(error, HR_STATUS_ERROR, "Provided axis cannot be negative; `axis` is %d",
                       a->axis);
    return HR_STATUS_OK;
}

/* The factor of element n in coefficient k. */
static double cosine(const mfcc_args *a, int32_t size, int32_t n, int32_t k)
{
    const double step = HR_PI / (a->dct_type == 1 ? size - 1 : size);
    const double at = a->dct_type == 2 || a->dct_type == 4 ? n + 0.5 : n;
    const double turn = a->dct_type == 3 || a->dct_type == 4 ? k + 0.5 : k;
    double scale = a->normalize ? sqrt(2.0 / size) : 1.0;
    if (a->dct_type == 1 && (n == 0 || n == size - 1))
        scale = 0.5;
    if (a->dct_type == 2 && k == 0 && a->normalize)
        scale = sqrt(1.0 / size);
    if (a->dct_type == 3 && n == 0)
        scale = a->normalize ? sqrt(1.0 / size) : 0.5;
    return scale * hr_cos(step * at * turn);
}

/* cosines: size * count; lifters: count. */
static void make_tables(const mfcc_args *a, int32_t size, int32_t count, float *cosines,
                        float *lifters)
{
    const double lifter = (double)a->lifter;
    for (int32_t n = 0; n < size; n++)
        for (int32_t k = 0; k < count; k++)
            cosines[(size_t)n * (size_t)count + (size_t)k] = (float)cosine(a, size, n, k);
    for (int32_t k = 0; k < count; k++)
        lifters[k] =
            a->lifter == 0.0f ? 1.0f : (float)(1 + lifter / 2 * hr_sin(HR_PI * (k + 1) / lifter));
}

/* ---- what a worker keeps: the tables of one size ---- */

typedef struct tables {
    int32_t size, count;
    float *cosines; /* [n][k] */
    float *rows;    /* the same as [k][n] */
    float *lifters;
} tables;

static hr_status tables_create(const void *args, void *state, void **local, hr_error *error)
{
    (void)args;
    (void)state;
    *local = hr_calloc(1, sizeof(tables), error);
    return *local ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void tables_destroy(void *local)
{
    hr_free(((tables *)local)->cosines);
    hr_free(local);
}

static hr_status tables_fit(tables *t, const mfcc_args *a, int32_t size, int32_t count,
                            hr_error *error)
{
    const size_t n = (size_t)size * (size_t)count;
    if (t->cosines && t->size == size && t->count == count)
        return HR_STATUS_OK;
    hr_free(t->cosines);
    t->cosines = hr_calloc(2 * n + (size_t)count + 1, sizeof(float), error);
    HR_TRY_ALLOC(t->cosines);
    t->rows = t->cosines + n;
    t->lifters = t->rows + n;
    t->size = size;
    t->count = count;
    make_tables(a, size, count, t->cosines, t->lifters);
    for (int32_t i = 0; i < size; i++)
        for (int32_t k = 0; k < count; k++)
            t->rows[(size_t)k * (size_t)size + (size_t)i] =
                t->cosines[(size_t)i * (size_t)count + (size_t)k];
    return HR_STATUS_OK;
}

/* Of the axes of a sample: those before the transformed one, and those behind it. */
static void find_axes(const hr_op_call *c, int64_t *outer, int64_t *columns)
{
    const int32_t axis = ((const mfcc_args *)c->args)->axis;
    const hr_shape *shape = &c->in[0].shape;
    *outer = *columns = 1;
    for (int32_t d = 0; d < shape->ndim; d++)
        *(d < axis ? outer : columns) *= d == axis ? 1 : shape->extent[d];
}

static hr_status stage_tables(hr_op_call *c, hr_error *error)
{
    const mfcc_args *a = c->args;
    const int32_t size = (int32_t)c->in[0].shape.extent[a->axis];
    const int32_t count = (int32_t)c->out[0].shape.extent[a->axis];
    const void *cosines = NULL, *lifters = NULL;
    hr_mfcc *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    HR_TRY_ALLOC(m);
    HR_TRY(tables_fit(c->local, a, size, count, error));
    const tables *t = c->local;
    HR_TRY(c->staging->constant(c->staging, t->cosines,
                                (size_t)size * (size_t)count * sizeof(float), &cosines, error));
    if (a->lifter != 0.0f)
        HR_TRY(c->staging->constant(c->staging, t->lifters, (size_t)count * sizeof(float), &lifters,
                                    error));
    *m = (hr_mfcc){1, 1, size, count, cosines, lifters};
    find_axes(c, &m->outer, &m->columns);
    c->memo = m;
    return HR_STATUS_OK;
}

static hr_status mfcc_infer(hr_op_call *c, hr_error *error)
{
    const mfcc_args *a = c->args;
    hr_shape shape = c->in[0].shape;
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be FLOAT, but it is %s",
                       hr_dtype_name(c->in[0].dtype));
    if (shape.ndim < 2 || shape.ndim > 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must have 2, 3 or 4 dimensions, but it has %d", (int)shape.ndim);
    if (a->axis >= shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "Axis %d is out of bounds [0,%d)", a->axis,
                       (int)shape.ndim);
    const int64_t size = shape.extent[a->axis], count = HR_MIN(size, a->n_mfcc);
    if (a->dct_type == 1 && size == 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the cosine transform of type 1 needs more than one element");
    if (size > INT32_MAX || size * count > MOST_COSINES)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "%lld coefficients of %lld elements; their product may be %d at most",
                       (long long)count, (long long)size, MOST_COSINES);
    shape.extent[a->axis] = count;
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, shape, c->in[0].layout.name);
    return c->staging ? stage_tables(c, error) : HR_STATUS_OK;
}

/* ---- sums ---- */

static void scale(float *v, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        v[i] *= factor;
}

/* All coefficients of a matrix (size, columns). */
static void transform_columns(const hr_op_call *c, const tables *t, const float **rows,
                              const float *in, float *out, int64_t columns)
{
    const bool lifts = ((const mfcc_args *)c->args)->lifter != 0.0f;
    for (int64_t at = 0; at < columns; at += TILE) {
        const size_t n = (size_t)HR_MIN(TILE, columns - at);
        for (int32_t i = 0; i < t->size; i++)
            rows[i] = in + i * columns + at;
        for (int32_t k = 0; k < t->count; k++) {
            float *dst = out + k * columns + at;
            c->kernels->vfilter_f32(dst, rows, t->rows + (size_t)k * (size_t)t->size, t->size, n);
            if (lifts)
                scale(dst, n, t->lifters[k]);
        }
    }
}

/* All coefficients of one spectrum: a sum of rows of cosines. */
static void transform_one(const hr_op_call *c, const tables *t, const float *const *rows,
                          const float *in, float *out)
{
    c->kernels->vfilter_f32(out, rows, in, t->size, (size_t)t->count);
    if (((const mfcc_args *)c->args)->lifter != 0.0f)
        for (int32_t k = 0; k < t->count; k++)
            out[k] *= t->lifters[k];
}

static hr_status mfcc_run(hr_op_call *c, hr_error *error)
{
    const mfcc_args *a = c->args;
    const int64_t size = c->in[0].shape.extent[a->axis], count = c->out[0].shape.extent[a->axis];
    int64_t outer, columns;
    find_axes(c, &outer, &columns);
    if (outer == 0 || columns == 0 || size == 0)
        return HR_STATUS_OK;
    HR_TRY(tables_fit(c->local, a, (int32_t)size, (int32_t)count, error));
    const tables *t = c->local;
    const float **rows = hr_arena_alloc(c->arena, (size_t)size * sizeof(*rows), error);
    HR_TRY_ALLOC(rows);
    for (int64_t i = 0; columns == 1 && i < size; i++)
        rows[i] = t->cosines + i * count;
    for (int64_t i = 0; i < outer; i++) {
        const float *from = (const float *)c->in[0].data + i * size * columns;
        float *to = (float *)c->out[0].data + i * count * columns;
        if (columns == 1)
            transform_one(c, t, rows, from, to);
        else
            transform_columns(c, t, rows, from, to, columns);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_mfcc = {
    HR_OP("mfcc"),
    .doc = "Mel-frequency cepstral coefficients: cosine transforms of mel spectra in decibels. No "
           "transform has the factor of 2 that SciPy's have.",
    .devices = "cpu|gpu",
    HR_ARGS(mfcc_args,
            HR_ARG(mfcc_args, n_mfcc, INT, 0, "20",
                   "Number of coefficients; no more are made than the axis has elements."),
            HR_ARG(mfcc_args, dct_type, INT, 0, "2", "Type of the cosine transform, 1 to 4."),
            HR_ARG(mfcc_args, normalize, BOOL, 0, "False",
                   "Scale the transform so that it is orthonormal; not possible with type 1."),
            HR_ARG(mfcc_args, axis, INT, 0, "0", "The axis that is transformed."),
            HR_ARG(mfcc_args, lifter, FLOAT, HR_ARG_NONFINITE, "0.0",
                   "If it is not 0, coefficient k is multiplied by 1 + `lifter` / 2 * sin(pi * (k "
                   "+ 1) / `lifter`).")),
    .in = HR_INPUTS({.name = "data"}),
    .check = mfcc_check,
    .infer = mfcc_infer,
    .run = mfcc_run,
    .local_create = tables_create,
    .local_destroy = tables_destroy,
};
