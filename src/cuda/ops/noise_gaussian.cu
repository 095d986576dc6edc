// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/noise.cuh"

namespace
{

struct record : op::noise_record {
    hr_noise_gaussian m;

    HR_DEVICE void element(int64_t block) const
    {
        int64_t at = noise_element(block);
        if (at >= elements)
            return;
        uint32_t bits[4];
        float z[4];
        int size = value_size(type);
        rng_block(&rng, (uint64_t)block, bits);
        noise_normal(bits[0], bits[1], &z[0], &z[1]);
        noise_normal(bits[2], bits[3], &z[2], &z[3]);
        for (int k = 0; k < 4 && at < elements; k++, at += HR_NOISE_BLOCKS) {
            float v = value_to_float(value_load(src + at * size, size), type);
            value_store(dst + at * size, size,
                        value_of_float(noise_added(v, z[k], m.mean, m.stddev), type));
        }
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = record();
    op::noise_make(r, c, op::count(&c->in[0]));
    r->m = *(const hr_noise_gaussian *)c->memo;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(noise_gaussian, "noise.gaussian", run);
