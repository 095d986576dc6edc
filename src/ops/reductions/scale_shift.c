/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Processes runs of elements with the runs of means and factors that belong to them. */
#include "ops/reductions/scale_shift.h"
#include "kernels/elements.h"

#include <string.h>

enum { RUN = 480 };

typedef struct job {
    const hr_kernels *kernels;
    const hr_tensor *in;
    hr_tensor *out;
    const float *mean, *factor;
    float shift;
    const hr_reduce_shape *shape;
} job;

static void run(const job *j, size_t at, size_t n, const float *mean, const float *factor)
{
    const uint8_t *x = (const uint8_t *)j->in->data + at * hr_dtype_size(j->in->dtype);
    uint8_t *y = (uint8_t *)j->out->data + at * hr_dtype_size(j->out->dtype);
    const float shift = j->shift;
    float v[RUN], result[RUN];
    const bool wide = j->in->dtype == HR_DTYPE_FLOAT, direct = j->out->dtype == HR_DTYPE_FLOAT;
    const float *from = wide ? (const float *)x : v;
    float *to = direct ? (float *)y : result;

    if (!wide)
        hr_kernels_convert(j->kernels, v, HR_DTYPE_FLOAT, x, j->in->dtype, n);
    for (size_t i = 0; i < n; i++)
        to[i] = (from[i] - mean[i]) * factor[i] + shift;
    if (!direct)
        hr_kernels_convert(j->kernels, y, j->out->dtype, result, HR_DTYPE_FLOAT, n);
}

/* n elements: the `count` of `from` again and again. */
static void repeat(float *to, size_t n, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof(*to));
    for (size_t done = count, more; done < n; done += more) {
        more = HR_MIN(done, n - done);
        memcpy(to + done, to, more * sizeof(*to));
    }
}

/* rows * cols elements; column c has mean `at` + c. */
static void columns(const job *j, size_t x, size_t at, size_t rows, size_t cols)
{
    float mean[RUN], factor[RUN];

    if (cols > RUN / 2) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c += RUN)
                run(j, x + r * cols + c, HR_MIN(RUN, cols - c), j->mean + at + c,
                    j->factor + at + c);
        return;
    }
    const size_t n = HR_MIN(RUN / cols, rows) * cols, total = rows * cols;
    repeat(mean, n, j->mean + at, cols);
    repeat(factor, n, j->factor + at, cols);
    for (size_t i = 0; i < total; i += n)
        run(j, x + i, HR_MIN(n, total - i), mean, factor);
}

/* rows * cols elements with few columns; row r has mean `at` + r. */
static void short_rows(const job *j, size_t x, size_t at, size_t rows, size_t cols)
{
    float mean[RUN], factor[RUN];
    const size_t step = RUN / cols;

    for (size_t r = 0; r < rows; r += step) {
        const size_t n = HR_MIN(step, rows - r);
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < cols; c++) {
                mean[i * cols + c] = j->mean[at + r + i];
                factor[i * cols + c] = j->factor[at + r + i];
            }
        run(j, x + r * cols, n * cols, mean, factor);
    }
}

static void take(const job *j, int32_t first, size_t x, size_t at)
{
    const hr_reduce_axis *a = &j->shape->axes[first];
    const int32_t left = j->shape->count - first;

    if (left == 1 && a->out_step == 0)
        columns(j, x, at, a->extent, 1);
    else if (left == 1)
        columns(j, x, at, 1, a->extent);
    else if (left == 2 && a->out_step == 0)
        columns(j, x, at, a->extent, a[1].extent);
    else if (left == 2 && a[1].extent < 64)
        short_rows(j, x, at, a->extent, a[1].extent);
    else
        for (size_t i = 0; i < a->extent; i++)
            take(j, first + 1, x + i * a->in_step, at + i * a->out_step);
}

void hr__scale_shift(const hr_kernels *kernels, const hr_tensor *in, hr_tensor *out,
                     const hr_reduce_shape *shape, const float *mean, const float *factor,
                     float shift)
{
    const job j = {.kernels = kernels,
                   .in = in,
                   .out = out,
                   .mean = mean,
                   .factor = factor,
                   .shift = shift,
                   .shape = shape};

    if (shape->outputs > 0 && shape->inputs > 0)
        take(&j, 0, 0, 0);
}
