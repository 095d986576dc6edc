// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// grid_mask: one thread per pixel.
#include "ops/pixels/grid_mask.h"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    hr_grid_mask m;
    const void *src;
    void *dst;
    int64_t count, width;
    int32_t channels;
    hr_dtype dtype;

    // As in a multiplication by 0 or 1: floats keep their sign and NaN.
    template <typename T> HR_DEVICE void pixel(int64_t i, bool keep) const
    {
        for (int64_t k = i * channels; k < (i + 1) * channels; k++)
            ((T *)dst)[k] = (T)(((const T *)src)[k] * (T)keep);
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i;
        int32_t x = (int32_t)op::digit(&y, width);
        bool keep = grid_mask_keeps(&m, x, (int32_t)y);
        if (dtype == HR_DTYPE_UINT8)
            pixel<uint8_t>(i, keep);
        else if (dtype == HR_DTYPE_INT16)
            pixel<int16_t>(i, keep);
        else if (dtype == HR_DTYPE_INT32)
            pixel<int32_t>(i, keep);
        else
            pixel<float>(i, keep);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const int64_t *extent = c->in[0].shape.extent;
    *r = {};
    r->m = *(const hr_grid_mask *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = op::count(&c->out[0]) > 0 ? extent[0] * extent[1] : 0;
    r->width = extent[1];
    r->channels = (int32_t)extent[2];
    r->dtype = c->in[0].dtype;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(grid_mask, "grid_mask", run);
