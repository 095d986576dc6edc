// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Outputs assembled from boxes of inputs (ops/generic/region.h): one record per box, one thread per
// unit of up to 16 bytes.
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/generic/region.h"

namespace
{

struct alignas(16) unit16 {
    uint64_t v[2];
};

struct region_record {
    char *to;
    const char *from;
    int64_t count;
    int32_t unit, ndim;
    int32_t from_type, to_type; // if they differ, a unit is an element
    bool rounds;                // when it is converted; otherwise it is cut off
    // outermost first; the last dimension is the units of an element
    int64_t extent[HR_MAX_NDIM + 1], to_step[HR_MAX_NDIM + 1], from_step[HR_MAX_NDIM + 1];

    template <typename Index> HR_DEVICE void find_offsets(Index i, int64_t *out, int64_t *in) const
    {
        for (int32_t d = ndim - 1; d > 0; d--) {
            Index n = (Index)extent[d], next = i / n;
            int64_t at = (int64_t)(i - next * n);
            *out += at * to_step[d];
            *in += at * from_step[d];
            i = next;
        }
        *out += (int64_t)i * to_step[0];
        *in += (int64_t)i * from_step[0];
    }

    HR_DEVICE uint64_t converted(uint64_t v) const
    {
        return rounds ? value_convert(v, from_type, to_type) : value_cut(v, from_type, to_type);
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t out = 0, in = 0;
        if (count <= UINT32_MAX) // 64-bit divisions are expensive
            find_offsets((uint32_t)i, &out, &in);
        else
            find_offsets(i, &out, &in);
        if (from_type != to_type)
            value_store(to + out, value_size(to_type),
                        converted(value_load(from + in, value_size(from_type))));
        else if (unit == 16)
            *(unit16 *)(to + out) = *(const unit16 *)(from + in);
        else
            value_store(to + out, unit, value_load(from + in, unit));
    }
};

// Pixels of up to four channels, each channel a plane of the output: a thread takes four pixels.
struct planes_record {
    char *to;
    const char *from;
    int64_t count; // groups of four pixels
    int64_t pixels, plane;
    int32_t channels, size;

    template <typename T> struct alignas(4 * sizeof(T)) Four {
        T v[4];
    };

    template <typename T> HR_DEVICE void store_plane(T *out, const T *in, int n) const
    {
        Four<T> all = {};
        HR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < n)
                all.v[i] = in[i * channels];
        if (n == 4 && (uintptr_t)out % sizeof all == 0) {
            *(Four<T> *)out = all;
            return;
        }
        HR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < n)
                out[i] = all.v[i];
    }

    template <typename T> HR_DEVICE void store_planes(int64_t first) const
    {
        const T *in = (const T *)from + first * channels;
        int n = (int)HR_MIN(pixels - first, 4);
        HR_UNROLL
        for (int c = 0; c < 4; c++)
            if (c < channels)
                store_plane((T *)to + c * plane + first, in + c, n);
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (size == 1)
            store_planes<uint8_t>(4 * i);
        else if (size == 2)
            store_planes<uint16_t>(4 * i);
        else
            store_planes<uint32_t>(4 * i);
    }
};

// Whether the region moves channels of pixels to planes.
bool planes_make(planes_record *p, const region_record *r)
{
    *p = {};
    if (r->from_type != r->to_type || r->ndim != 3 || r->extent[2] != 1 || r->unit > 4 ||
        r->extent[0] > 4 || r->from_step[0] != r->unit || r->to_step[1] != r->unit ||
        r->from_step[1] != r->extent[0] * r->unit || r->to_step[0] % r->unit != 0)
        return false;
    *p = {r->to,
          r->from,
          HR_DIVIDE_UP(r->extent[1], 4),
          r->extent[1],
          r->to_step[0] / r->unit,
          (int32_t)r->extent[0],
          r->unit};
    return true;
}

// Finds the largest unit that divides `item`, the addresses and the steps.
void region_units(region_record *r, size_t item, bool repeats)
{
    uint64_t bits = 16 | item | (uintptr_t)r->to | (uintptr_t)r->from;
    int32_t last = r->ndim++;
    for (int32_t d = 0; d < last; d++)
        bits |= (uint64_t)r->to_step[d] | (uint64_t)r->from_step[d];
    r->unit = (int32_t)(bits & (~bits + 1));
    r->extent[last] = (int64_t)item / r->unit;
    r->to_step[last] = r->unit;
    r->from_step[last] = repeats ? 0 : r->unit;
}

// `fill`: an address on the device.
void part_make(region_record *r, const hr_region_parts *parts, const hr_region_part *p,
               const hr_op_call *c, const void *fill)
{
    const hr_tensor *in = p->input < 0 ? nullptr : &c->in[p->input];
    const hr_region *region = &p->region;
    size_t item = region->item;
    int32_t last = region->ndim - 1;
    *r = {};
    r->to = (char *)c->out[0].data + p->to;
    r->from = (const char *)(in ? in->data : fill) + p->from;
    r->ndim = region->ndim;
    r->count = 1;
    for (int32_t d = 0; d < region->ndim; d++) {
        r->extent[d] = region->extent[d];
        r->to_step[d] = region->to[d];
        r->from_step[d] = region->from[d];
    }
    r->rounds = parts->rounds;
    if (in && (parts->convert || parts->rounds)) {
        r->from_type = hr_dtype_number(in->dtype);
        r->to_type = hr_dtype_number(c->out[0].dtype);
    } else {
        // a row of one fill value is treated as one element made of repeating units
        bool row = !in && last >= 0 && region->from[last] == 0 && region->to[last] == (int64_t)item;
        r->ndim -= row;
        region_units(r, row ? item * (size_t)region->extent[last] : item, !in);
    }
    for (int32_t d = 0; d < r->ndim; d++)
        r->count *= r->extent[d];
}

// `run` of operators whose memo is hr_region_parts.
hr_status parts_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                    hr_error *error)
{
    hr_staged records, planes;
    bool any = false;
    int32_t total = 0;
    for (int32_t i = 0; i < n; i++)
        total += ((const hr_region_parts *)calls[i].memo)->count;
    if (total == 0)
        return HR_STATUS_OK;
    HR_TRY(staging->alloc(staging, (size_t)total * sizeof(region_record), &records, error));
    HR_TRY(staging->alloc(staging, (size_t)total * sizeof(planes_record), &planes, error));
    planes_record *plane = (planes_record *)planes.host;
    region_record *to = (region_record *)records.host;
    for (int32_t i = 0; i < n; i++) {
        const hr_region_parts *parts = (const hr_region_parts *)calls[i].memo;
        const char *fill = (const char *)parts->fill;
        if (parts->fill_size > 0)
            HR_TRY(op::stage_list(&fill, (int64_t)parts->fill_size, staging, error));
        for (int32_t k = 0; k < parts->count; k++, to++, plane++) {
            part_make(to, parts, &parts->part[k], &calls[i], fill);
            if (planes_make(plane, to)) {
                to->count = 0;
                any = true;
            }
        }
    }
    HR_TRY(staging->flush(staging, error));
    if (any)
        HR_TRY(op::launch<planes_record>(l, planes, total, error));
    return op::launch<region_record>(l, records, total, error);
}

} // namespace

HR_CUDA_OP(cat, "cat", parts_run);
HR_CUDA_OP(crop, "crop", parts_run);
HR_CUDA_OP(dl_tensor_python_function, "dl_tensor_python_function", parts_run);
HR_CUDA_OP(full, "full", parts_run);
HR_CUDA_OP(full_like, "full_like", parts_run);
HR_CUDA_OP(ones, "ones", parts_run);
HR_CUDA_OP(ones_like, "ones_like", parts_run);
HR_CUDA_OP(pad, "pad", parts_run);
HR_CUDA_OP(python_function, "python_function", parts_run);
HR_CUDA_OP(sequence_rearrange, "sequence_rearrange", parts_run);
HR_CUDA_OP(slice, "slice", parts_run);
HR_CUDA_OP(stack, "stack", parts_run);
HR_CUDA_OP(subscript, "_subscript", parts_run);
HR_CUDA_OP(transpose, "transpose", parts_run);
HR_CUDA_OP(zeros, "zeros", parts_run);
HR_CUDA_OP(zeros_like, "zeros_like", parts_run);
