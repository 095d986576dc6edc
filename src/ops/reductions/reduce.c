/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reduces all axes to rows of columns. Neighbouring axes that are both reduced or both kept are
 * merged, and the kernel processes the last two of the remaining axes at once. Lanes fill vectors.
 */
#include "ops/reductions/reduce.h"

#include <float.h>
#include <string.h>

typedef struct job {
    hr_reduce_fn take, join;
    size_t size, acc_size; /* of an element and of an accumulator */
    hr_reduce_kind kind;
    hr_dtype dtype;
    bool rounds; /* the result depends on the order of additions */
    const double *mean;
    uint8_t *acc;
    const hr_reduce_shape *shape;
} job;

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

/* Sets `n` accumulators to the result for no elements. */
static void start(hr_reduce_kind kind, hr_dtype dtype, void *acc, size_t n)
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
        else /* outside the range of every integer type, so conversion saturates */
            hr_convert(&first, dtype, &(double){sign * 1e30}, HR_DTYPE_FLOAT64, 1);
    }
    for (size_t i = 0; i < n; i++)
        memcpy((uint8_t *)acc + i * size, &first, size);
}

static const double *mean_at(const job *j, size_t at)
{
    return j->mean ? j->mean + at : NULL;
}

/* Accumulates consecutive rows. */
static void take_passes(const job *j, void *acc, const uint8_t *x, const double *mean, size_t rows,
                        size_t cols)
{
    const size_t pass = j->rounds || cols > HR_REDUCE_LANES ? reduce_pass(cols) : rows;

    for (size_t r = 0; r < rows; r += pass)
        j->take(acc, x + r * cols * j->size, mean, HR_MIN(pass, rows - r), cols, cols, 1);
}

/* The same, into the accumulators from `at`. */
static void take_rows(const job *j, const uint8_t *x, size_t at, size_t rows, size_t cols)
{
    uint8_t *acc = j->acc + at * j->acc_size;
    double lane_acc[HR_REDUCE_NARROW * HR_REDUCE_LANES];
    double lane_mean[HR_REDUCE_NARROW * HR_REDUCE_LANES];
    const size_t lanes = reduce_lanes(rows, cols), wide = cols * lanes, full = rows / lanes;

    if (lanes == 1) {
        take_passes(j, acc, x, mean_at(j, at), rows, cols);
        return;
    }
    start(j->kind, j->dtype, lane_acc, wide);
    for (size_t i = 0; j->mean && i < wide; i++)
        lane_mean[i] = j->mean[at + i % cols];
    take_passes(j, lane_acc, x, lane_mean, full, wide);
    const size_t left = rows % lanes * cols;
    j->take(lane_acc, x + full * wide * j->size, lane_mean, 1, left, left, 1);
    j->join(acc, lane_acc, NULL, lanes, cols, cols, 1);
}

static void take_axes(const job *j, int32_t first, const uint8_t *x, size_t at)
{
    const hr_reduce_axis *a = &j->shape->axes[first];
    int32_t left = j->shape->count - first;

    if (left == 1 && a->out_step == 0) {
        take_rows(j, x, at, a->extent, 1);
    } else if (left == 1) {
        take_rows(j, x, at, 1, a->extent);
    } else if (left == 2 && a->out_step == 0) {
        take_rows(j, x, at, a->extent, a[1].extent);
    } else if (left == 2 && a[1].extent < HR_REDUCE_LANES) {
        j->take(j->acc + at * j->acc_size, x, mean_at(j, at), a[1].extent, a->extent, 1,
                a[1].extent);
    } else {
        for (size_t i = 0; i < a->extent; i++)
            take_axes(j, first + 1, x + i * a->in_step * j->size, at + i * a->out_step);
    }
}

void hr__reduce_shape(const hr_shape *shape, uint32_t mask, hr_reduce_shape *out)
{
    hr_reduce_axis found[HR_MAX_NDIM + 1];
    int32_t n = 0;
    size_t in_step = 1;

    out->outputs = out->inputs = 1;
    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        const bool reduced = mask >> d & 1;
        const size_t extent = (size_t)shape->extent[d];
        if (extent == 1) /* has no effect */
            continue;
        if (n > 0 && (found[n - 1].out_step == 0) == reduced)
            found[n - 1].extent *= extent;
        else
            found[n++] = (hr_reduce_axis){extent, in_step, reduced ? 0 : out->outputs};
        in_step *= extent;
        *(reduced ? &out->inputs : &out->outputs) *= extent;
    }
    if (n == 0)
        found[n++] = (hr_reduce_axis){1, 1, 0};
    out->count = n;
    for (int32_t i = 0; i < n; i++)
        out->axes[i] = found[n - 1 - i];
}

void hr__reduce(const hr_kernels *kernels, hr_reduce_kind kind, const void *in, hr_dtype dtype,
                const hr_reduce_shape *shape, const double *mean, void *acc)
{
    const hr_dtype type = hr__reduce_type(kind, dtype);
    const hr_reduce_kind join = kind == HR_REDUCE_MIN || kind == HR_REDUCE_MAX ? kind
                                : type == HR_DTYPE_FLOAT64                     ? HR_REDUCE_TOTAL
                                                                               : HR_REDUCE_SUM;
    job j = {.take = kernels->reduce->of[kind][dtype],
             .join = kernels->reduce->of[join][type],
             .size = hr_dtype_size(dtype),
             .acc_size = hr_dtype_size(type),
             .kind = kind,
             .dtype = dtype,
             .rounds = type == HR_DTYPE_FLOAT64,
             .mean = mean,
             .acc = acc,
             .shape = shape};

    start(kind, dtype, acc, shape->outputs);
    if (shape->outputs > 0 && shape->inputs > 0)
        take_axes(&j, 0, in, 0);
}
