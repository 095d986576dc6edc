// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// mfcc: one thread per column of a few coefficients.
#include "ops/audio/mfcc.h"
#include "cuda/ops/op.cuh"

namespace
{

constexpr int TOGETHER = 4; // coefficients of a thread, which reads its column once

struct record {
    hr_mfcc m;
    const float *src;
    float *dst;
    int64_t count; // threads
    int32_t groups;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t outer = i, column = op::digit(&outer, m.columns);
        const int k = (int)op::digit(&outer, groups) * TOGETHER;
        const int used = HR_MIN(m.count - k, TOGETHER);
        const float *from = src + outer * m.size * m.columns + column, *row = m.cosines + k;
        float *to = dst + (outer * m.count + k) * m.columns + column, sum[TOGETHER];
        HR_UNROLL
        for (int j = 0; j < TOGETHER; j++)
            sum[j] = j < used ? row[j] * from[0] : 0.0f;
        HR_UNROLL_FOUR
        for (int n = 1; n < m.size; n++) {
            const float v = from[n * m.columns];
            row += m.count;
            HR_UNROLL
            for (int j = 0; j < TOGETHER; j++)
                if (j < used)
                    sum[j] += row[j] * v;
        }
        HR_UNROLL
        for (int j = 0; j < TOGETHER; j++)
            if (j < used)
                to[j * m.columns] = m.lifters ? sum[j] * m.lifters[k + j] : sum[j];
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {};
    r->m = *(const hr_mfcc *)c->memo;
    r->src = (const float *)c->in[0].data;
    r->dst = (float *)c->out[0].data;
    r->groups = HR_DIVIDE_UP(r->m.count, TOGETHER);
    r->count = r->m.outer * r->groups * r->m.columns;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records;
    HR_TRY(op::stage<record>(calls, n, staging, make, &records, error));
    return op::launch<record, 1>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(mfcc, "mfcc", run);
