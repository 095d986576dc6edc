// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/noise.cuh"

namespace
{

struct record : op::noise_record {
    hr_salt_pepper m;

    HR_DEVICE void pixel(int64_t at, uint32_t draw) const
    {
        int size = value_size(type);
        for (int64_t c = 0; c < m.channels; c++) {
            int64_t offset = (at * m.pixel_step + c * m.channel_step) * size;
            uint64_t v = draw >= m.noise_below ? value_load(src + offset, size)
                         : draw < m.salt_below ? m.salt
                                               : m.pepper;
            value_store(dst + offset, size, v);
        }
    }

    HR_DEVICE void element(int64_t block) const
    {
        int64_t at = noise_element(block);
        if (at >= elements)
            return;
        uint32_t bits[4];
        rng_block(&rng, (uint64_t)block, bits);
        for (int k = 0; k < 4 && at < elements; k++, at += HR_NOISE_BLOCKS)
            pixel(at, bits[k]);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = record();
    r->m = *(const hr_salt_pepper *)c->memo;
    op::noise_make(r, c, r->m.pixels);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(noise_salt_and_pepper, "noise.salt_and_pepper", run);
