// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// transforms.*: one thread per matrix. What an operator makes was made on the host.
#include "cuda/ops/op.cuh"
#include "ops/geometry/chain.h"

namespace
{

// The matrices of all frames, or one for all of them.
struct factor {
    const float *m;
    int64_t step; // numbers from frame to frame
};

struct record {
    const factor *factors;
    float *dst;
    int64_t count; // frames
    int32_t ndim, factor_count;
    bool reverse;

    HR_DEVICE void element(int64_t frame) const
    {
        const int32_t size = ndim * (ndim + 1);
        float *out = dst + frame * size;
        for (int32_t k = 0; k < size; k++)
            out[k] = factors[0].m[frame * factors[0].step + k];
        for (int32_t i = 1; i < factor_count; i++) {
            const float *m = factors[i].m + frame * factors[i].step;
            transform_chain(out, reverse ? out : m, reverse ? m : out, ndim);
        }
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_transform_product *chain = (const hr_transform_product *)c->memo;
    const int64_t size = chain->ndim * (chain->ndim + 1);
    hr_staged factors;
    HR_TRY(staging->alloc(staging, ((size_t)c->n_in + 1) * sizeof(factor), &factors, error));
    factor *to = (factor *)factors.host;
    for (int32_t i = 0; i < c->n_in; i++)
        *to++ = {(const float *)c->in[i].data, c->in[i].shape.ndim == 3 ? size : 0};
    if (chain->made)
        *to++ = {chain->made, size};
    *r = {
        (const factor *)factors.device,         (float *)c->out[0].data, chain->frames, chain->ndim,
        (int32_t)(to - (factor *)factors.host), chain->reverse};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(transforms_combine, "transforms.combine", run);
HR_CUDA_OP(transforms_crop, "transforms.crop", run);
HR_CUDA_OP(transforms_rotation, "transforms.rotation", run);
HR_CUDA_OP(transforms_scale, "transforms.scale", run);
HR_CUDA_OP(transforms_shear, "transforms.shear", run);
HR_CUDA_OP(transforms_translation, "transforms.translation", run);
