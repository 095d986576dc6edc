// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Operators that choose an element of a window (ops/filter/window.h): one thread per element.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/filter/window.h"

namespace
{

struct window_record {
    hr_windows m;
    const char *src;
    char *dst;
    int64_t count;
    int32_t size, dtype;

    // The key of an element at (y, x), which may be outside the picture; false: it does not count.
    HR_DEVICE bool key_at(const char *picture, int64_t y, int64_t x, uint32_t *key) const
    {
        y = border_index(y, m.height, m.border);
        x = border_index(x, m.width, m.border);
        if (y < 0 || x < 0)
            return false;
        uint32_t bits = (uint32_t)value_load(picture + (y * m.width + x) * m.channels * size, size);
        *key = size == 4 ? window_key(bits, dtype) : bits;
        return true;
    }

    HR_DEVICE uint32_t extreme(const char *picture, const hr_reach &r, int64_t y, int64_t x) const
    {
        bool max = m.kind == HR_WINDOW_KIND_MAX;
        uint32_t best = max ? 0 : 0xffffffff, key;
        for (int64_t v = y - r.up; v <= y + r.down; v++)
            for (int64_t u = x - r.left; u <= x + r.right; u++)
                if (key_at(picture, v, u, &key))
                    best = max ? (key > best ? key : best) : (key < best ? key : best);
        return best;
    }

    // Bit by bit, as on the CPU.
    HR_DEVICE uint32_t median(const char *picture, const hr_reach &r, int64_t y, int64_t x) const
    {
        int64_t half = (r.up + r.down + 1) * (r.left + r.right + 1) / 2;
        uint32_t best = 0, key;
        for (uint32_t bit = 1u << (8 * size - 1); bit != 0; bit >>= 1) {
            int64_t below = 0;
            for (int64_t v = y - r.up; v <= y + r.down; v++)
                for (int64_t u = x - r.left; u <= x + r.right; u++)
                    below += key_at(picture, v, u, &key) && key < (best | bit);
            best |= below <= half ? bit : 0;
        }
        return best;
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t rest = i, c = op::digit(&rest, m.channels), x = op::digit(&rest, m.width);
        int64_t y = op::digit(&rest, m.height);
        const char *picture = src + (rest * m.height * m.width * m.channels + c) * size;
        const hr_reach &r = m.reach[m.reach_count > 1 ? rest / (int64_t)m.per_frame : 0];
        uint32_t key =
            m.kind == HR_WINDOW_KIND_MEDIAN ? median(picture, r, y, x) : extreme(picture, r, y, x);
        value_store(dst + i * size, size, size == 4 ? window_element(key, dtype) : key);
    }
};

hr_status window_make(window_record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_windows *m = (const hr_windows *)c->memo;
    *r = {};
    r->m = *m;
    HR_TRY(op::stage_list(&r->m.reach, m->reach_count, staging, error));
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->out[0]);
    r->dtype = c->in[0].dtype;
    r->size = value_size(c->in[0].dtype);
    return HR_STATUS_OK;
}

hr_status windows_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                      hr_error *error)
{
    return op::run<window_record>(l, calls, n, staging, window_make, error);
}

} // namespace

HR_CUDA_OP(experimental_dilate, "experimental.dilate", windows_run);
HR_CUDA_OP(experimental_erode, "experimental.erode", windows_run);
HR_CUDA_OP(experimental_median_blur, "experimental.median_blur", windows_run);
