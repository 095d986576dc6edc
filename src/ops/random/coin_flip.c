/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random.coin_flip: zeros and ones. Element k is draw k. */
#include "ops/random/distribution.h"
#include "ops/random/draw.h"

typedef struct coin_flip_args {
    float probability;
    int32_t dtype;
    hr_ints shape;
} coin_flip_args;

static hr_status coin_flip_check(const void *args, const hr_given *given, hr_error *error)
{
    int32_t dtype = ((const coin_flip_args *)args)->dtype;

    (void)given;
    if (dtype == HR_DTYPE_NONE || dtype == HR_DTYPE_BOOL || dtype == HR_DTYPE_UINT8 ||
        dtype == HR_DTYPE_INT32)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`dtype` is %s; it must be BOOL, UINT8 or INT32",
                   hr_dtype_name((hr_dtype)dtype));
}

static hr_status coin_flip_infer(hr_op_call *c, hr_error *error)
{
    const coin_flip_args *args = c->args;
    int32_t dtype = args->dtype == HR_DTYPE_NONE ? HR_DTYPE_INT32 : args->dtype;
    hr_coin_flip *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    m->below = (double)args->probability * 0x1p32;
    c->memo = m;
    return hr__draw_describe(c, args->shape, (hr_dtype)dtype, error);
}

static void flip(const hr_op_call *c, const uint32_t *bits, size_t n, void *to)
{
    const hr_coin_flip m = *(const hr_coin_flip *)c->memo;
    int32_t *wide = to;
    uint8_t *narrow = to;

    if (c->out[0].dtype == HR_DTYPE_INT32)
        for (size_t k = 0; k < n; k++)
            wide[k] = coin_flip_of(&m, bits[k]);
    else
        for (size_t k = 0; k < n; k++)
            narrow[k] = coin_flip_of(&m, bits[k]);
}

static hr_status coin_flip_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__draw(c, 1, flip);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_coin_flip = {
    HR_OP("random.coin_flip"),
    .doc = "Draws 1 with the given probability, otherwise 0. Returns one scalar per sample, unless "
           "`shape` or an input with the wanted shape is given.",
    .aliases = HR_NAMES("coin_flip", "ops:CoinFlip"),
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(coin_flip_args,
            HR_ARG(coin_flip_args, probability, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Probability of 1. 0 or less always gives 0, 1 or more always gives 1."),
            HR_ARG(coin_flip_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output: BOOL, UINT8 or INT32 (default)."),
            HR_DRAW_SHAPE_ARG(coin_flip_args)),
    .in = HR_INPUTS({.name = "shape_like"}),
    .in_max = 1,
    .check = coin_flip_check,
    .infer = coin_flip_infer,
    .run = coin_flip_run,
};
