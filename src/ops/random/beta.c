/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random.beta: numbers of a beta distribution are x / (x + y), where x and y have gamma
 * distributions. How many draws these need is not known in advance, so draws 4k .. 4k + 3 seed a
 * generator for element k. */
#include <float.h>
#include <math.h>

#include "ops/random/draw.h"
#include "ops/random/gauss.h"

typedef struct beta_args {
    float alpha, beta;
    int32_t dtype;
    hr_ints shape;
} beta_args;

static hr_status beta_check(const void *args, const hr_given *given, hr_error *error)
{
    int32_t dtype = ((const beta_args *)args)->dtype;

    (void)given;
    if (dtype == HR_DTYPE_NONE || dtype == HR_DTYPE_FLOAT || dtype == HR_DTYPE_FLOAT64)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "Data type %s is not supported: `dtype` must be FLOAT or FLOAT64",
                   hr_dtype_dali_name((hr_dtype)dtype));
}

static bool valid(float parameter)
{
    return parameter > 0.0f && parameter <= FLT_MAX;
}

static hr_status beta_infer(hr_op_call *c, hr_error *error)
{
    const beta_args *a = c->args;
    int32_t dtype = a->dtype == HR_DTYPE_NONE ? HR_DTYPE_FLOAT : a->dtype;

    if (!valid(a->alpha) || !valid(a->beta))
        return hr_fail(error, HR_STATUS_ERROR, "The `%s` must be a positive float32; got %g",
                       valid(a->alpha) ? "beta" : "alpha",
                       (double)(valid(a->alpha) ? a->beta : a->alpha));
    return hr__draw_describe(c, a->shape, (hr_dtype)dtype, error);
}

/* The generator of one element. */
typedef struct stream {
    hr_rng rng;
    uint32_t bits[4], used;
} stream;

static double next(stream *s)
{
    if (s->used == 4) {
        hr_philox(s->rng.key, s->rng.counter, s->bits);
        s->rng.counter[0]++;
        s->used = 0;
    }
    return (s->bits[s->used++] + 0.5) * 0x1p-32;
}

/* The logarithm of a number of the gamma distribution (Marsaglia and Tsang 2000). The number itself
 * would underflow for small shapes. */
static double log_gamma(stream *s, double shape)
{
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);

    for (;;) {
        double x = gauss_of(next(s)), u = next(s), v = 1.0 + c * x;
        if (v <= 0.0)
            continue;
        v = v * v * v;
        if (u >= 1.0 - 0.0331 * x * x * x * x &&
            hr_log(u) >= 0.5 * x * x + d * (1.0 - v + hr_log(v)))
            continue;
        return hr_log(d * v) + (shape < 1.0 ? hr_log(next(s)) / shape : 0.0);
    }
}

static void make(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const beta_args *a = c->args;
    double v[HR_DRAW_RUN / 4];

    for (size_t i = 0; i < n; i++, bits += 4) {
        stream s = {.rng = {{bits[0], bits[1]}, {0, bits[2], bits[3], 0}}, .used = 4};
        double x = log_gamma(&s, (double)a->alpha);
        v[i] = 1.0 / (1.0 + hr_exp(log_gamma(&s, (double)a->beta) - x));
    }
    hr_convert(to, c->out[0].dtype, v, HR_DTYPE_FLOAT64, n);
}

static hr_status beta_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__draw(c, 4, make);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_beta = {
    HR_OP("random.beta"),
    .doc = "Draws numbers from a beta distribution, between 0 and 1: one scalar per sample, or a "
           "tensor with the shape `shape` or that of the input.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(beta_args,
            HR_ARG(beta_args, alpha, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_EXACT | HR_ARG_NONFINITE,
                   "1.0", "First shape parameter, greater than 0."),
            HR_ARG(beta_args, beta, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_EXACT | HR_ARG_NONFINITE,
                   "1.0", "Second shape parameter, greater than 0."),
            HR_ARG(beta_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output: FLOAT (default) or FLOAT64."),
            HR_DRAW_SHAPE_ARG(beta_args)),
    .in = HR_INPUTS({.name = "shape_like"}),
    .in_max = 1,
    .check = beta_check,
    .infer = beta_infer,
    .run = beta_run,
};
