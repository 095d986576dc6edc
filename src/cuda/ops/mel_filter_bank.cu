// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// mel_filter_bank: one thread per sum.
#include "ops/audio/mel_filter_bank.h"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    hr_mel_bank bank;
    const float *src;
    float *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t outer = i, column = op::digit(&outer, bank.columns);
        const hr_mel_band band = bank.bands[op::digit(&outer, bank.nfilter)];
        const float *from = src + (outer * bank.bins + band.first) * bank.columns + column;
        const float *weights = bank.weights + band.at;
        float sum = band.count > 0 ? weights[0] * from[0] : 0.0f;
        HR_UNROLL_FOUR
        for (int32_t k = 1; k < band.count; k++)
            sum += weights[k] * from[k * bank.columns];
        dst[i] = sum;
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {*(const hr_mel_bank *)c->memo, (const float *)c->in[0].data, (float *)c->out[0].data,
          op::count(&c->out[0])};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(mel_filter_bank, "mel_filter_bank", run);
