/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* batch_permutation: a random order of the samples of the batch. */
#include "core/core.h"

typedef struct batch_permutation_args {
    int32_t allow_repetitions, no_fixed_points;
} batch_permutation_args;

#define SHUFFLES 64 /* one in e has no fixed point: all of them fail once in 10^13 */

static void draw_each(const hr_rng *rng, int32_t *order, int32_t n, bool fixed)
{
    for (int32_t i = 0; i < n; i++) {
        if (fixed)
            order[i] = (int32_t)hr_rng_below(rng, 2 * (uint64_t)i, n);
        else
            order[i] = (int32_t)((i + 1 + hr_rng_below(rng, 2 * (uint64_t)i, n - 1)) % n);
    }
}

/* Fisher-Yates shuffle. Returns whether no number i is at position i. */
static bool shuffle(const hr_rng *rng, uint64_t draw, int32_t *order, int32_t n)
{
    bool moved = true;

    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t k = (int32_t)hr_rng_below(rng, draw + 2 * (uint64_t)i, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int32_t i = 0; i < n; i++)
        moved = moved && order[i] != i;
    return moved;
}

static hr_status batch_permutation_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    const batch_permutation_args *a = calls[0].args;
    const hr_rng *rng = &calls[0].rng;
    int32_t samples = n > 1 ? n : calls[0].count;
    int32_t *order = hr_arena_alloc(calls[0].arena, (size_t)samples * sizeof(*order), error);
    bool fixed = !a->no_fixed_points || samples == 1;

    HR_TRY_ALLOC(order);
    if (a->allow_repetitions) {
        draw_each(rng, order, samples, fixed);
    } else {
        bool moved = shuffle(rng, 0, order, samples);
        for (uint64_t k = 1; !fixed && !moved && k < SHUFFLES; k++)
            moved = shuffle(rng, 2 * k * (uint64_t)samples, order, samples);
        for (int32_t i = 0; i < samples && !fixed && !moved; i++)
            order[i] = (i + 1) % samples;
    }
    for (int32_t i = 0; i < n; i++) {
        hr_tensor_describe(&calls[i].out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
        calls[i].out[0].data = &order[i];
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_batch_permutation = {
    HR_OP("batch_permutation"),
    .doc = "A random permutation of the indices of the samples in the batch, one index per sample, "
           "for `permute_batch`.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_COLUMNS,
    HR_ARGS(batch_permutation_args,
            HR_ARG(batch_permutation_args, allow_repetitions, BOOL, 0, "False",
                   "Draw every number independently, so that numbers may occur several times or "
                   "not at all."),
            HR_ARG(batch_permutation_args, no_fixed_points, BOOL, 0, "False",
                   "Number i is never at position i (unless the batch has only one sample).")),
    .run_batch = batch_permutation_run,
};
