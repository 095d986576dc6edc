// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// mel_filter_bank: one thread per sum.
#include "ops/audio/mel_filter_bank.h"
#include "cuda/ops/floats.cuh"

namespace
{

struct record : op::floats<hr_mel_bank> {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t outer = i, column = op::digit(&outer, m.columns);
        const hr_mel_band band = m.bands[op::digit(&outer, m.nfilter)];
        const float *from = src + (outer * m.bins + band.first) * m.columns + column;
        const float *weights = m.weights + band.at;
        float sum = band.count > 0 ? weights[0] * from[0] : 0.0f;
        HR_UNROLL_FOUR
        for (int32_t k = 1; k < band.count; k++)
            sum += weights[k] * from[k * m.columns];
        dst[i] = sum;
    }
};

} // namespace

HR_CUDA_OP(mel_filter_bank, "mel_filter_bank", op::run_floats<record>);
