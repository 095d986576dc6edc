/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random.normal: normally distributed numbers. Element k uses draw k, or two draws for FLOAT64. */
#include "ops/random/distribution.h"
#include "ops/random/draw.h"

typedef struct normal_args {
    float mean, stddev;
    int32_t dtype;
    hr_ints shape;
} normal_args;

static hr_status normal_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__draw_check_dtype(((const normal_args *)args)->dtype, error);
}

static hr_status normal_infer(hr_op_call *c, hr_error *error)
{
    const normal_args *a = c->args;
    int32_t dtype = a->dtype == HR_DTYPE_NONE ? HR_DTYPE_FLOAT : a->dtype;
    hr_normal *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    m->mean = (double)a->mean;
    m->stddev = (double)a->stddev;
    c->memo = m;
    return hr__draw_describe(c, a->shape, (hr_dtype)dtype, error);
}

static void make(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const hr_normal m = *(const hr_normal *)c->memo;
    double v[HR_DRAW_RUN];

    for (size_t i = 0; i < n; i++)
        v[i] = normal_of(&m, bits[i]);
    hr_convert(to, c->out[0].dtype, v, HR_DTYPE_FLOAT64, n);
}

static void make_fine(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const hr_normal m = *(const hr_normal *)c->memo;
    double *v = to;

    for (size_t i = 0; i < n; i++)
        v[i] = normal_fine(&m, &bits[2 * i]);
}

static hr_status normal_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    bool fine = c->out[0].dtype == HR_DTYPE_FLOAT64;
    hr__draw(c, fine ? 2 : 1, fine ? make_fine : make);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_normal = {
    HR_OP("random.normal"),
    .doc = "Draws normally distributed numbers. Returns one scalar per sample, unless `shape` or "
           "an input with the wanted shape is given.",
    .aliases = HR_NAMES("normal_distribution", "ops:NormalDistribution"),
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(normal_args,
            HR_ARG(normal_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output: any numeric type except FLOAT16 and BOOL. Default: FLOAT. "
                   "For integer types, numbers are rounded."),
            HR_ARG(normal_args, mean, FLOAT, HR_ARG_PER_SAMPLE, "0.0", "Mean of the distribution."),
            HR_DRAW_SHAPE_ARG(normal_args),
            HR_ARG(normal_args, stddev, FLOAT, HR_ARG_PER_SAMPLE, "1.0",
                   "Standard deviation of the distribution.")),
    .in = HR_INPUTS({.name = "shape_like"}),
    .in_max = 1,
    .check = normal_check,
    .infer = normal_infer,
    .run = normal_run,
};
