// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// multi_paste: one thread per pixel of the canvas, which looks for the last region that covers it.
#include "ops/pixels/multi_paste.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct region {
    const char *src; // its first pixel
    int64_t stride;  // bytes from row to row
    int64_t y, x, height, width;
};

struct record {
    const region *regions; // of frame after frame
    char *dst;
    int64_t count, canvas[2], regions_per_frame, channels;
    int32_t from, to;

    HR_DEVICE const char *find(const region *list, int64_t y, int64_t x) const
    {
        for (int64_t k = regions_per_frame - 1; k >= 0; k--) {
            const region &r = list[k];
            if (y >= r.y && y < r.y + r.height && x >= r.x && x < r.x + r.width)
                return r.src + (y - r.y) * r.stride + (x - r.x) * channels * value_size(from);
        }
        return nullptr;
    }

    HR_DEVICE void element(int64_t i) const
    {
        int32_t from_size = value_size(from), to_size = value_size(to);
        char *out = dst + i * channels * to_size;
        int64_t x = op::digit(&i, canvas[1]), y = op::digit(&i, canvas[0]);
        const char *in = find(regions + i * regions_per_frame, y, x);
        for (int64_t c = 0; c < channels; c++)
            value_store(out + c * to_size, to_size,
                        in ? value_convert(value_load(in + c * from_size, from_size), from, to)
                           : 0);
    }
};

// `infer` has checked the same batch. This is for the case that one of its samples failed since.
hr_status changed(hr_error *error, const char *text)
{
    if (error) {
        error->status = HR_STATUS_ERROR;
        snprintf(error->message, sizeof error->message, "%s", text);
    }
    return HR_STATUS_ERROR;
}

hr_status add_regions(region *to, const hr_multi_paste *m, hr_error *error)
{
    char text[HR_PASTE_TEXT];
    hr_paste_region r;
    for (int64_t f = 0; f < m->frames; f++)
        for (int64_t k = 0; k < m->count; k++, to++) {
            if (!multi_paste_region(m, f, k, &r, text))
                return changed(error, text);
            const hr_tensor *t = multi_paste_source(m, k);
            const int64_t *extent = t->shape.extent + m->first;
            int64_t pixel = m->channels * value_size(t->dtype);
            to->stride = extent[1] * pixel;
            to->src = (const char *)t->data + (f * extent[0] + r.from[0]) * to->stride +
                      r.from[1] * pixel;
            to->y = r.to[0];
            to->x = r.to[1];
            to->height = r.shape[0];
            to->width = r.shape[1];
        }
    return HR_STATUS_OK;
}

hr_status make(record *r, const hr_op_call *calls, int32_t n, int32_t i, hr_staging *staging,
               hr_error *error)
{
    const hr_tensor *out = &calls[i].out[0];
    char text[HR_PASTE_TEXT];
    hr_multi_paste m;
    hr_staged regions;
    *r = {};
    if (op::count(out) == 0)
        return HR_STATUS_OK;
    if (!multi_paste_open(&m, calls, n, i, text))
        return changed(error, text);
    m.canvas[0] = out->shape.extent[m.first];
    m.canvas[1] = out->shape.extent[m.first + 1];
    if (m.channels != out->shape.extent[m.first + 2])
        return changed(error, "the batch has changed: it now has other numbers of channels");
    HR_TRY(staging->alloc(staging, (size_t)(m.frames * m.count) * sizeof(region) + 1, &regions,
                          error));
    HR_TRY(add_regions((region *)regions.host, &m, error));
    r->regions = (const region *)regions.device;
    r->dst = (char *)out->data;
    r->count = m.frames * m.canvas[0] * m.canvas[1];
    r->canvas[0] = m.canvas[0];
    r->canvas[1] = m.canvas[1];
    r->regions_per_frame = m.count;
    r->channels = m.channels;
    r->from = calls[i].in[0].dtype;
    r->to = out->dtype;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    for (int32_t i = 0; i < n; i++)
        HR_TRY(make((record *)records.host + i, calls, n, i, staging, error));
    HR_TRY(staging->flush(staging, error));
    return op::launch<record>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(multi_paste, "multi_paste", run);
