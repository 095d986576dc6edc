// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// grid_mask: a thread has four pixels, which are one access to memory per channel if they are
// aligned.
#include "ops/pixels/grid_mask.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

constexpr int PIXELS = 4;

template <typename T> struct alignas(PIXELS * sizeof(T)) four {
    T v[PIXELS];
};

struct record {
    hr_grid_mask m;
    const void *src;
    void *dst;
    int64_t count, pixels, width;
    int32_t channels;
    hr_dtype dtype;
    bool aligned;

    // As in a multiplication by 0 or 1: floats keep their sign and NaN.
    template <typename T> HR_DEVICE static T masked(T v, bool keep)
    {
        return (T)(v * (T)keep);
    }

    template <typename T, int C> HR_DEVICE void mask_aligned(int64_t first, const bool *keep) const
    {
        const four<T> *from = (const four<T> *)((const T *)src + first * C);
        four<T> *to = (four<T> *)((T *)dst + first * C), all[C];
        HR_UNROLL
        for (int c = 0; c < C; c++)
            all[c] = from[c];
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            HR_UNROLL
            for (int k = 0; k < PIXELS; k++)
                all[c].v[k] = masked(all[c].v[k], keep[(c * PIXELS + k) / C]);
            to[c] = all[c];
        }
    }

    template <typename T> HR_DEVICE void mask(int64_t first, int n, const bool *keep) const
    {
        if (aligned && n == PIXELS && channels == 3)
            return mask_aligned<T, 3>(first, keep);
        if (aligned && n == PIXELS && channels == 1)
            return mask_aligned<T, 1>(first, keep);
        HR_UNROLL
        for (int k = 0; k < PIXELS; k++)
            for (int64_t at = (first + k) * channels; k < n && at < (first + k + 1) * channels;
                 at++)
                ((T *)dst)[at] = masked(((const T *)src)[at], keep[k]);
    }

    HR_DEVICE void element(int64_t i) const
    {
        const int64_t first = i * PIXELS;
        const int n = (int)HR_MIN(pixels - first, PIXELS);
        int64_t y = first;
        int32_t x = (int32_t)op::digit(&y, width);
        bool keep[PIXELS];
        HR_UNROLL
        for (int k = 0; k < PIXELS; k++) {
            keep[k] = grid_mask_keeps(&m, x, (int32_t)y);
            bool last = ++x == width;
            x = last ? 0 : x;
            y += last;
        }
        if (dtype == HR_DTYPE_UINT8)
            mask<uint8_t>(first, n, keep);
        else if (dtype == HR_DTYPE_INT16)
            mask<int16_t>(first, n, keep);
        else if (dtype == HR_DTYPE_INT32)
            mask<int32_t>(first, n, keep);
        else
            mask<float>(first, n, keep);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const int64_t *extent = c->in[0].shape.extent;
    *r = {};
    r->m = *(const hr_grid_mask *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->pixels = op::count(&c->out[0]) > 0 ? extent[0] * extent[1] : 0;
    r->count = HR_DIVIDE_UP(r->pixels, PIXELS);
    r->width = extent[1];
    r->channels = (int32_t)extent[2];
    r->dtype = c->in[0].dtype;
    r->aligned =
        (((uintptr_t)r->src | (uintptr_t)r->dst) & (PIXELS * value_size(r->dtype) - 1)) == 0;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(grid_mask, "grid_mask", run);
