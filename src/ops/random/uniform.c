/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random.uniform: numbers from a range or from a list. Element k uses draw k, or draws 2k and 2k +
 * 1 with a list. */
#include "ops/random/distribution.h"
#include "ops/random/draw.h"
#include "ops/common/wrap.h"

typedef struct uniform_args {
    hr_floats range, values;
    int32_t dtype;
    hr_ints shape;
} uniform_args;

static hr_status uniform_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__draw_check_dtype(((const uniform_args *)args)->dtype, error);
}

static hr_status uniform_infer(hr_op_call *c, hr_error *error)
{
    const uniform_args *a = c->args;
    int32_t dtype = a->dtype == HR_DTYPE_NONE ? HR_DTYPE_FLOAT : a->dtype;
    hr_uniform *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    if (a->values.v && a->values.n < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`values` is empty; it must have a number to draw");
    if (!a->values.v && !(a->range.v[0] < a->range.v[a->range.n - 1]))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`range` is [%g, %g); its end must be greater than its start",
                       (double)a->range.v[0], (double)a->range.v[a->range.n - 1]);
    m->values = a->values;
    m->low = a->range.v[0];
    m->high = a->range.v[a->range.n - 1];
    /* DALI converts the ends of the range to the output type: [-1, 1] as UINT8 is 255 .. 1. */
    m->wide_low = (double)hr__value_wrap(m->low, (hr_dtype)dtype);
    m->wide_high = (double)hr__value_wrap(m->high, (hr_dtype)dtype);
    c->memo = m;
    return hr__draw_describe(c, a->shape, (hr_dtype)dtype, error);
}

static void draw_floats(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const hr_uniform m = *(const hr_uniform *)c->memo;
    float *v = to;

    for (size_t i = 0; i < n; i++)
        v[i] = uniform_float(&m, bits[i]);
}

static void draw_others(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const hr_uniform m = *(const hr_uniform *)c->memo;
    double v[HR_DRAW_RUN];

    for (size_t i = 0; i < n; i++)
        v[i] = uniform_double(&m, bits[i]);
    hr_convert(to, c->out[0].dtype, v, HR_DTYPE_FLOAT64, n);
}

static void draw_values(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    float v[HR_DRAW_RUN];

    for (size_t i = 0; i < n; i++)
        v[i] = uniform_value(c->memo, &bits[2 * i]);
    hr_convert(to, c->out[0].dtype, v, HR_DTYPE_FLOAT, n);
}

static hr_status uniform_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    if (((const hr_uniform *)c->memo)->values.v)
        hr__draw(c, 2, draw_values);
    else
        hr__draw(c, 1, c->out[0].dtype == HR_DTYPE_FLOAT ? draw_floats : draw_others);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_uniform = {
    HR_OP("random.uniform"),
    .doc = "Draws numbers uniformly from a range of real numbers or from a list. Returns one "
           "scalar per sample, unless `shape` or an input with the wanted shape is given.",
    .aliases = HR_NAMES("uniform", "ops:Uniform"),
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(uniform_args,
            HR_ARG(uniform_args, range, FLOATS, HR_ARG_PER_SAMPLE, "[-1.0, 1.0]",
                   "Draw real numbers from [range[0], range[1]). With an integer `dtype` they are "
                   "rounded, so both ends occur half as often as the numbers between them.",
                   .count_min = 1, .count_max = 2),
            HR_ARG(uniform_args, values, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Draw from these numbers with equal probability, instead of from `range`."),
            HR_ARG(uniform_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output: any numeric type except FLOAT16 and BOOL. Default: FLOAT."),
            HR_DRAW_SHAPE_ARG(uniform_args)),
    .in = HR_INPUTS({.name = "shape_like"}),
    .in_max = 1,
    .check = uniform_check,
    .infer = uniform_infer,
    .run = uniform_run,
};
