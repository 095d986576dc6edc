/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* permute_batch: changes the order of samples. */
#include "core/core.h"
#include "headrace/operator.h"

typedef struct permute_batch_args {
    hr_ints indices;
} permute_batch_args;

static hr_status permute_batch_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    /* A list for the batch is one struct for all calls; numbers that come a sample are not. */
    bool each = n == 1 || calls[0].args != calls[1].args;

    for (int32_t i = 0; i < n; i++) {
        const hr_ints indices = ((const permute_batch_args *)calls[i].args)->indices;
        if (indices.n != (each ? 1 : n))
            return hr_fail(
                error, HR_STATUS_ERROR,
                "The number of sample indices (%d) does not match the current batch size "
                "(%d)",
                (int)indices.n, (int)n);
        int32_t from = indices.v[each ? 0 : i];
        if (from < 0 || from >= n)
            return hr_fail(
                error, HR_STATUS_ERROR,
                "Sample index out of range. indices[%d] = %d is not a valid index for an "
                "input batch of %d tensors.",
                (int)i, (int)from, (int)n);
        calls[i].out[0] = calls[from].in[0];
        calls[i].source_info = calls[from].in[0].source_info;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_permute_batch = {
    HR_OP("permute_batch"),
    .doc = "Changes the order of the samples in the batch. Samples may be left out or repeated.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_VIEW | HR_OP_BORROWS,
    HR_ARGS(permute_batch_args,
            HR_ARG(permute_batch_args, indices, INTS, HR_ARG_PER_SAMPLE | HR_ARG_REQUIRED, NULL,
                   "For each sample of the output, the number of the sample of the input: a list "
                   "for the whole batch, or one number per sample. Numbers may repeat.")),
    .in = HR_INPUTS({.name = "data"}),
    .run_batch = permute_batch_run,
};
