// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// erase: copies the input, then overwrites each region, with one thread per element of it.
#include "ops/pixels/erase.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "cuda/runtime.cuh"

namespace
{

// A region of a sample.
struct record {
    char *dst; // the region's first element
    const uint64_t *fills;
    int64_t count;
    int64_t extent[HR_ERASE_AXES], step[HR_ERASE_AXES]; // of the region; in elements
    int64_t channel;                                    // of its first element
    int32_t channels, size;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t offset = 0, fill = 0;
        for (int d = HR_ERASE_AXES - 1; d >= 0; d--) {
            int64_t at = op::digit(&i, extent[d]);
            offset += at * step[d];
            if (d == channels)
                fill = channel + at;
        }
        value_store(dst + offset * size, size, fills[fill]);
    }
};

const hr_erase *memo(const hr_op_call *c)
{
    return (const hr_erase *)c->memo;
}

void make(record *r, const hr_op_call *c, const hr_erase_box *box, const uint64_t *fills)
{
    const hr_erase *m = memo(c);
    int64_t step = 1, offset = 0;
    *r = {};
    r->count = 1;
    for (int d = HR_ERASE_AXES - 1; d >= 0; d--) {
        r->extent[d] = box->end[d] - box->start[d];
        r->step[d] = step;
        r->count *= r->extent[d];
        offset += box->start[d] * step;
        step *= m->extent[d];
    }
    r->fills = fills;
    r->channels = m->channels;
    r->channel = m->channels < 0 ? 0 : box->start[m->channels];
    r->size = value_size(c->out[0].dtype);
    r->dst = (char *)c->out[0].data + offset * r->size;
}

// The regions of all calls. Regions of a sample may overlap: they have the same fills.
hr_status add_regions(record *to, const hr_op_call *calls, int32_t n, hr_staging *staging,
                      hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const hr_erase *m = memo(&calls[i]);
        const uint64_t *fills = m->fills;
        if (m->count == 0)
            continue;
        HR_TRY(op::stage_list(&fills, m->fill_count, staging, error));
        for (int32_t k = 0; k < m->count; k++)
            make(to++, &calls[i], &m->boxes[k], fills);
    }
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged copies, regions;
    int32_t total = 0;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(hr_cuda_copy), &copies, error));
    for (int32_t i = 0; i < n; i++) {
        const hr_tensor *out = &calls[i].out[0];
        ((hr_cuda_copy *)copies.host)[i] = {out->data, calls[i].in[0].data,
                                            (size_t)op::count(out) *
                                                (size_t)value_size(out->dtype)};
        total += memo(&calls[i])->count;
    }
    HR_TRY(staging->alloc(staging, (size_t)total * sizeof(record) + 1, &regions, error));
    HR_TRY(add_regions((record *)regions.host, calls, n, staging, error));
    HR_TRY(staging->flush(staging, error));
    HR_TRY(hr_cuda_copy_all(l, copies, n, error));
    return op::launch<record>(l, regions, total, error);
}

} // namespace

HR_CUDA_OP(erase, "erase", run);
