/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Any axes come down to rows of columns: neighbouring axes that are both reduced, or both kept, are
 * one, and what is left of the last two goes to the kernel whole. Narrow rows are taken sixteen at
 * a time, which are then added up, so that vectors are full. */
#include "ops/reductions/reduce.h"

#include <float.h>
#include <string.h>

enum {
    SIDE_BY_SIDE = 16, /* rows that are taken as one */
    NARROW = 64,       /* columns up to which that is done */
    PASS = 256 /* rows, so that they stay in the cache while their columns are gone through */
};

typedef struct job {
    hr_reduce_fn take, join;
    size_t size, acc_size; /* of an element, of an accumulator */
    hr_reduce_kind kind;
    hr_dtype dtype;
    const double *mean;
    uint8_t *acc;
    hr_reduce_axis axes[HR_MAX_NDIM];
    int32_t count;
} job;

void hr__reduce_counts(const hr_shape *shape, uint32_t mask, size_t *outputs, size_t *inputs)
{
    *outputs = *inputs = 1;
    for (int32_t d = 0; d < shape->ndim; d++)
        *(mask >> d & 1 ? inputs : outputs) *= (size_t)shape->extent[d];
}

hr_dtype hr__reduce_type(hr_reduce_kind kind, hr_dtype dtype)
{
    if (!hr_kernels_get(HR_CPU_LEVEL_BASE)->reduce->of[kind][dtype])
        return HR_DTYPE_NONE;
    switch (kind) {
    case HR_REDUCE_SUM:
        return hr_dtype_is_signed(dtype) ? HR_DTYPE_INT64 : HR_DTYPE_UINT64;
    case HR_REDUCE_SQUARES:
        return HR_DTYPE_UINT64;
    case HR_REDUCE_TOTAL:
    case HR_REDUCE_DISTANCES:
        return HR_DTYPE_FLOAT64;
    default:
        return dtype;
    }
}

void hr__reduce_start(hr_reduce_kind kind, hr_dtype dtype, void *acc, size_t n)
{
    size_t size = hr_dtype_size(hr__reduce_type(kind, dtype));
    union {
        uint64_t zero;
        float f;
        double d;
        uint8_t bytes[8];
    } first = {0};

    if (kind == HR_REDUCE_MIN || kind == HR_REDUCE_MAX) {
        double sign = kind == HR_REDUCE_MIN ? 1.0 : -1.0;
        if (dtype == HR_DTYPE_FLOAT)
            first.f = (float)(sign * (double)FLT_MAX);
        else if (dtype == HR_DTYPE_FLOAT64)
            first.d = sign * DBL_MAX;
        else /* beyond the range of every integer type: conversion saturates */
            hr_convert(&first, dtype, &(double){sign * 1e30}, HR_DTYPE_FLOAT64, 1);
    }
    for (size_t i = 0; i < n; i++)
        memcpy((uint8_t *)acc + i * size, &first, size);
}

static const double *mean_at(const job *j, size_t at)
{
    return j->mean ? j->mean + at : NULL;
}

static size_t pass_rows(const job *j, size_t cols)
{
    return HR_MAX(PASS / (cols * j->size), 32);
}

/* Rows one behind the other, into the accumulators from `at` on. */
static void take_rows(const job *j, const uint8_t *x, size_t at, size_t rows, size_t cols)
{
    uint8_t *acc = j->acc + at * j->acc_size;
    double wide_acc[NARROW * SIDE_BY_SIDE], wide_mean[NARROW * SIDE_BY_SIDE];
    size_t wide = cols * SIDE_BY_SIDE, many = rows / SIDE_BY_SIDE;

    if (cols <= NARROW && many > 1) {
        hr__reduce_start(j->kind, j->dtype, wide_acc, wide);
        for (size_t i = 0; j->mean && i < wide; i++)
            wide_mean[i] = j->mean[at + i % cols];
        size_t pass = cols == 1 ? many : pass_rows(j, wide);
        for (size_t r = 0; r < many; r += pass)
            j->take(wide_acc, x + r * wide * j->size, wide_mean, HR_MIN(pass, many - r), wide, wide,
                    1);
        j->join(acc, wide_acc, NULL, SIDE_BY_SIDE, cols, cols, 1);
        x += many * wide * j->size;
        rows -= many * SIDE_BY_SIDE;
    }
    const size_t pass = pass_rows(j, cols);
    for (size_t r = 0; r < rows; r += pass)
        j->take(acc, x + r * cols * j->size, mean_at(j, at), HR_MIN(pass, rows - r), cols, cols, 1);
}

static void take_axes(const job *j, int32_t first, const uint8_t *x, size_t at)
{
    const hr_reduce_axis *a = &j->axes[first];
    int32_t left = j->count - first;

    if (left == 1 && a->out_step == 0) {
        take_rows(j, x, at, a->extent, 1);
    } else if (left == 1) {
        take_rows(j, x, at, 1, a->extent);
    } else if (left == 2 && a->out_step == 0) {
        take_rows(j, x, at, a->extent, a[1].extent);
    } else if (left == 2 && a[1].extent < SIDE_BY_SIDE) {
        j->take(j->acc + at * j->acc_size, x, mean_at(j, at), a[1].extent, a->extent, 1,
                a[1].extent);
    } else {
        for (size_t i = 0; i < a->extent; i++)
            take_axes(j, first + 1, x + i * a->in_step * j->size, at + i * a->out_step);
    }
}

int32_t hr__reduce_axes(const hr_shape *shape, uint32_t mask, hr_reduce_axis axes[HR_MAX_NDIM])
{
    size_t in_step = 1, out_step = 1;
    hr_reduce_axis found[HR_MAX_NDIM + 1];
    int32_t n = 0;

    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        bool reduced = mask >> d & 1;
        size_t extent = (size_t)shape->extent[d];
        if (extent == 1) /* says nothing */
            continue;
        if (n > 0 && (found[n - 1].out_step == 0) == reduced)
            found[n - 1].extent *= extent;
        else
            found[n++] = (hr_reduce_axis){extent, in_step, reduced ? 0 : out_step};
        in_step *= extent;
        out_step *= reduced ? 1 : extent;
    }
    if (n == 0)
        found[n++] = (hr_reduce_axis){1, 1, 0};
    for (int32_t i = 0; i < n; i++)
        axes[i] = found[n - 1 - i];
    return n;
}

void hr__reduce(const hr_kernels *kernels, hr_reduce_kind kind, const hr_tensor *in, uint32_t mask,
                const double *mean, void *acc)
{
    const hr_dtype type = hr__reduce_type(kind, in->dtype);
    const hr_reduce_kind join = kind == HR_REDUCE_MIN || kind == HR_REDUCE_MAX ? kind
                                : type == HR_DTYPE_FLOAT64                     ? HR_REDUCE_TOTAL
                                                                               : HR_REDUCE_SUM;
    job j = {.take = kernels->reduce->of[kind][in->dtype],
             .join = kernels->reduce->of[join][type],
             .size = hr_dtype_size(in->dtype),
             .acc_size = hr_dtype_size(type),
             .kind = kind,
             .dtype = in->dtype,
             .mean = mean,
             .acc = acc};
    size_t volume = 0;

    hr_shape_volume(&in->shape, &volume);
    j.count = hr__reduce_axes(&in->shape, mask, j.axes);
    if (volume > 0)
        take_axes(&j, 0, in->data, 0);
}
