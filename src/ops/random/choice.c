/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random.choice: numbers below a limit, or slices of a tensor. Choice k uses draws 2k and 2k + 1.
 */
#include <string.h>

#include "core/rng_inline.h"
#include "ops/random/draw.h"

typedef struct choice_args {
    hr_floats p;
    hr_ints shape;
} choice_args;

/* The choices: 0 .. n - 1, or the slices along the first dimension. */
static int64_t choice_count(const hr_tensor *a)
{
    return a->shape.ndim ? a->shape.extent[0] : hr_element_int(a->data, a->dtype, 0);
}

/* One number is the probability of each of the n elements. */
static hr_status check_p(hr_floats p, int64_t n, int32_t sample, hr_error *error)
{
    double sum = 0.0;

    if (p.n != n && p.n != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Unexpected shape for argument \"p\". Expected {%lld}, but got {%d}. "
            "Argument \"p\" expected shape %lld but got %d values: one probability for each "
            "element.",
            (long long)n, (int)p.n, (long long)n, (int)p.n);
    for (int32_t i = 0; i < p.n; i++) {
        if (!(p.v[i] >= 0.0f && p.v[i] <= 1.0f))
            return hr_fail(error, HR_STATUS_ERROR,
                           "Probabilities must be in range [0, 1], but got: %g for sample: %d at "
                           "index %d.",
                           (double)p.v[i], (int)sample, (int)i);
        sum += (double)p.v[i];
    }
    if (p.n == 1)
        sum *= (double)n;
    if (!(sum > 1.0 - 1e-4 && sum < 1.0 + 1e-4))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Sum of probabilities must be 1.0, but got %g for sample: %d.", sum,
                       (int)sample);
    return HR_STATUS_OK;
}

static hr_status choice_infer(hr_op_call *c, hr_error *error)
{
    const choice_args *args = c->args;
    const hr_tensor *a = &c->in[0];
    const int32_t rest = HR_MAX(a->shape.ndim - 1, 0);
    hr_op_call like = *c; /* the shape is that of the second input */

    if (a->shape.ndim == 0 && !hr_dtype_is_integer(a->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Data type %s is not supported for 0D inputs. Supported types are: uint8, "
                       "uint16, uint32, uint64, int8, int16, int32, int64",
                       hr_dtype_dali_name(a->dtype));
    if (choice_count(a) < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Expected positive number of elements for sampling, got: %lld for sample: "
                       "%d.",
                       (long long)choice_count(a), (int)hr_task_index(c->task));
    if (args->p.v)
        HR_TRY(check_p(args->p, choice_count(a), hr_task_index(c->task), error));
    like.in = c->in + 1;
    like.n_in = c->n_in - 1;
    HR_TRY(hr__draw_describe(&like, args->shape, a->dtype, error));
    hr_shape shape = c->out[0].shape;
    if (shape.ndim + rest > HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the output would have %d dimensions; at most %d are supported",
                       (int)(shape.ndim + rest), HR_MAX_NDIM);
    for (int32_t d = 0; d < rest; d++)
        shape.extent[shape.ndim++] = a->shape.extent[d + 1];
    const char *layout = shape.ndim == a->shape.ndim ? a->layout.name
                         : shape.ndim == rest        ? a->layout.name + (a->layout.name[0] != '\0')
                                                     : NULL;
    hr_tensor_describe(&c->out[0], a->dtype, shape, layout);
    return HR_STATUS_OK;
}

/* sums[i]: the sum of the probabilities of choices 0 .. i. */
static hr_status sums_make(hr_op_call *c, hr_floats p, double **sums, hr_error *error)
{
    double sum = 0.0;

    *sums = hr_arena_alloc(c->arena, ((size_t)p.n + 1) * sizeof(double), error);
    HR_TRY_ALLOC(*sums);
    for (int32_t i = 0; i < p.n; i++)
        (*sums)[i] = sum += (double)p.v[i];
    return HR_STATUS_OK;
}

/* The first choice whose sum is above u; it never has probability 0. */
static int64_t find(const double *sums, int64_t n, double u)
{
    int64_t low = 0, high = n - 1;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sums[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* floor(bits * n / 2^64) for n below 2^32, as in hr_rng_below. */
static int64_t below(uint64_t bits, uint64_t n)
{
    return (int64_t)(((bits >> 32) * n + ((bits & UINT32_MAX) * n >> 32)) >> 32);
}

static hr_status choice_run(hr_op_call *c, hr_error *error)
{
    const choice_args *args = c->args;
    const hr_tensor *a = &c->in[0];
    const int64_t n = choice_count(a);
    size_t volume = 0, slice = 1, bytes;
    uint8_t *to = c->out[0].data;
    double *sums = NULL;
    uint32_t draws[4];

    if (args->p.v && args->p.n > 1) /* one number: all elements have the same probability */
        HR_TRY(sums_make(c, args->p, &sums, error));
    for (int32_t d = 1; d < a->shape.ndim; d++)
        slice *= (size_t)a->shape.extent[d];
    hr_shape_volume(&c->out[0].shape, &volume);
    bytes = slice * hr_dtype_size(a->dtype);
    for (size_t k = 0; slice > 0 && k < volume / slice; k++, to += bytes) {
        if (k % 2 == 0)
            rng_block(&c->rng, k / 2, draws);
        const uint32_t *own = draws + k % 2 * 2;
        const uint64_t bits = (uint64_t)own[0] << 32 | own[1];
        int64_t i = sums             ? find(sums, n, sums[n - 1] * (double)(bits >> 11) * 0x1p-53)
                    : n <= INT32_MAX ? below(bits, (uint64_t)n)
                                     : hr_rng_below(&c->rng, 2 * k, n);
        if (a->shape.ndim)
            memcpy(to, (const uint8_t *)a->data + (size_t)i * bytes, bytes);
        else
            hr_convert(to, a->dtype, &i, HR_DTYPE_INT64, 1);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_choice = {
    HR_OP("random.choice"),
    .doc = "Draws slices along the first dimension of the input or, if the input is a number n, "
           "integers 0 .. n - 1. Makes one choice per sample, unless `shape` or a second input "
           "with the wanted shape is given.",
    .devices = "cpu",
    .flags = HR_OP_ENUMS | HR_OP_RANDOM | HR_OP_CHEAP,
    HR_ARGS(choice_args,
            HR_ARG(choice_args, p, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_NONFINITE,
                   NULL,
                   "Probabilities, one for each choice, or one number for all; their sum must be "
                   "1. Default: all equal."),
            HR_DRAW_SHAPE_ARG(choice_args)),
    .in = HR_INPUTS({.name = "a"}, {.name = "shape_like"}),
    .in_min = 1,
    .infer = choice_infer,
    .run = choice_run,
};
