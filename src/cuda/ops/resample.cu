// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Tensors filtered along any axes (ops/image/resample.h): images as image programs, others axis
// by axis, one launch per axis and one thread per element. The sums are those of
// kernels/resample_f32.c.
#include "cuda/image/taps.cuh"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "cuda/runtime.cuh"
#include "ops/filter/separable.h"
#include "ops/image/resample.h"

#include <cstdio>
#include <memory>
#include <new>

namespace
{

// The taps of an axis: for each output the first element that it reads, and its weights.
struct resample_taps {
    hr_taps taps;
    uint32_t *to;
    int64_t count;

    HR_DEVICE void element(int64_t o) const
    {
        uint32_t *out = to + o * (1 + taps.taps);
        hr_taps_walk walk;
        taps_walk_begin(&walk, &taps, (int32_t)o);
        out[0] = (uint32_t)taps_start(&taps, (int32_t)o);
        make_floats((float *)(out + 1), &taps, &walk);
    }
};

// (outer, in, inner) becomes (outer, out, inner).
struct resample_axis {
    const uint32_t *taps;
    const void *src;
    void *dst;
    const float *add; // elements that are added, or NULL
    int64_t count, inner;
    int32_t in, out, length; // length: taps per output
    int32_t from, to;

    template <typename T>
    HR_DEVICE float sum(const uint32_t *tap, int64_t row, int64_t column) const
    {
        const float *weight = (const float *)(tap + 1);
        const T *at = (const T *)src + (row + (int32_t)tap[0]) * inner + column;
        float v = weight[0] * (float)*at;
        for (int32_t k = 1; k < length; k++) {
            at += inner;
            v += weight[k] * (float)*at;
        }
        return v;
    }

    HR_DEVICE float sum_any(const uint32_t *tap, int64_t row, int64_t column) const
    {
        const float *weight = (const float *)(tap + 1);
        int32_t size = value_size(from);
        const char *at = (const char *)src + ((row + (int32_t)tap[0]) * inner + column) * size;
        float v = weight[0] * value_to_float(value_load(at, size), from);
        for (int32_t k = 1; k < length; k++) {
            at += inner * size;
            v += weight[k] * value_to_float(value_load(at, size), from);
        }
        return v;
    }

    template <typename Index> HR_DEVICE void make(Index i) const
    {
        Index rows = i / (Index)inner, outer = rows / (Index)out;
        int64_t column = (int64_t)(i - rows * (Index)inner), row = (int64_t)outer * in;
        const uint32_t *tap = taps + (int64_t)(rows - outer * (Index)out) * (1 + length);
        float v = from == HR_DTYPE_FLOAT    ? sum<float>(tap, row, column)
                  : from == HR_DTYPE_UINT8  ? sum<uint8_t>(tap, row, column)
                  : from == HR_DTYPE_UINT16 ? sum<uint16_t>(tap, row, column)
                  : from == HR_DTYPE_INT16  ? sum<int16_t>(tap, row, column)
                                            : sum_any(tap, row, column);
        if (add != NULL)
            v = add[i] + v;
        if (to == HR_DTYPE_FLOAT)
            ((float *)dst)[i] = v;
        else
            value_store((char *)dst + (int64_t)i * value_size(to), value_size(to),
                        value_of_float(v, to));
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (count <= UINT32_MAX) // 64-bit divisions are expensive
            make((uint32_t)i);
        else
            make(i);
    }
};

const hr_resample_device *resample_of(const hr_op_call *c)
{
    return ((const hr_resampling *)c->memo)->device;
}

// The memory for tensors between two passes. It has two sides, to which passes write in turn, and
// one for the sum of filters.
struct resample_room {
    char *side[3];
    size_t size; // of one side
};

// The bytes of one side that a sample needs.
size_t resample_between(const hr_op_call *c)
{
    return ((size_t)resample_of(c)->between * sizeof(float) + 255) / 256 * 256;
}

size_t resample_words(const hr_resample_pass *pass)
{
    return (size_t)pass->taps.out * (size_t)(1 + pass->taps.taps);
}

// The calls that fit into the memory at once, and their records: one row per pass, one column per
// call.
struct resample_part {
    const hr_op_call *calls;
    int32_t n, rows;
    hr_staged taps, axes;
};

// Fills the records of call i. Its tensors are at offset `at` of the memory, its taps at `words`.
void resample_fill(const resample_part *p, int32_t i, const resample_room *room, size_t at,
                   uint32_t *words)
{
    const hr_op_call *c = &p->calls[i];
    const hr_resample_device *d = resample_of(c);
    const void *src = c->in[0].data;
    int32_t from = c->in[0].dtype;
    char *sum = room->side[2] + at;
    bool summed = false;
    for (int32_t k = 0; k < p->rows; k++) {
        resample_taps *taps = (resample_taps *)p->taps.host + k * p->n + i;
        resample_axis *axis = (resample_axis *)p->axes.host + k * p->n + i;
        *taps = {};
        *axis = {};
        if (k >= d->count)
            continue;
        const hr_resample_pass *pass = &d->pass[k];
        const hr_taps *t = &pass->taps;
        bool last = k == d->count - 1;
        void *dst = last ? c->out[0].data : room->side[k % 2] + at;
        int32_t to = last ? c->out[0].dtype : HR_DTYPE_FLOAT;
        *taps = {*t, words, t->out};
        if (pass->first) {
            src = c->in[0].data;
            from = c->in[0].dtype;
        }
        if (pass->last && !last)
            dst = sum;
        *axis = {words,       src,         dst,  pass->last && summed ? (const float *)sum : NULL,
                 pass->count, pass->inner, t->n, t->out,
                 t->taps,     from,        to};
        words += resample_words(pass);
        summed |= pass->last;
        src = dst;
        from = to;
    }
}

template <typename Record>
hr_status resample_launch(hr_cuda_launch *l, hr_staged records, int32_t first, int32_t n,
                          hr_error *error)
{
    return op::launch<Record>(l, {(Record *)records.host + first, (Record *)records.device + first},
                              n, error);
}

hr_status resample_run_part(hr_cuda_launch *l, resample_part *p, const resample_room *room,
                            hr_staging *staging, hr_error *error)
{
    size_t count = (size_t)p->n * (size_t)p->rows, words = 0, at = 0;
    void *taps;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; k < resample_of(&p->calls[i])->count; k++)
            words += resample_words(&resample_of(&p->calls[i])->pass[k]);
    HR_TRY(l->scratch(l, (words + 1) * sizeof(uint32_t), &taps, error));
    HR_TRY(staging->alloc(staging, count * sizeof(resample_taps), &p->taps, error));
    HR_TRY(staging->alloc(staging, count * sizeof(resample_axis), &p->axes, error));
    uint32_t *to = (uint32_t *)taps;
    for (int32_t i = 0; i < p->n; i++) {
        resample_fill(p, i, room, at, to);
        at += resample_between(&p->calls[i]);
        for (int32_t k = 0; k < resample_of(&p->calls[i])->count; k++)
            to += resample_words(&resample_of(&p->calls[i])->pass[k]);
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY(resample_launch<resample_taps>(l, p->taps, 0, (int32_t)count, error));
    for (int32_t k = 0; k < p->rows; k++)
        HR_TRY(resample_launch<resample_axis>(l, p->axes, k * p->n, p->n, error));
    return HR_STATUS_OK;
}

// Processes the calls in parts if the tensors between passes would need too much memory at once.
hr_status resample_run_axes(hr_cuda_launch *l, const hr_op_call *calls, int32_t n,
                            hr_staging *staging, hr_error *error)
{
    int32_t rows = 0;
    bool sums = false;
    size_t total = 0, largest = 0;
    for (int32_t i = 0; i < n; i++) {
        size_t between = resample_between(&calls[i]);
        rows = HR_MAX(rows, resample_of(&calls[i])->count);
        total += between;
        sums |= resample_of(&calls[i])->sums;
        largest = HR_MAX(largest, between);
    }
    resample_room room = {};
    room.size = HR_MIN(total, HR_MAX(l->scratch_limit / 2, largest));
    for (int32_t k = 0; k < HR_MIN(rows - 1, sums ? 3 : 2); k++)
        HR_TRY(l->scratch(l, HR_MAX(room.size, 1), (void **)&room.side[k], error));
    for (int32_t first = 0, end = 0; rows > 0 && first < n; first = end) {
        size_t used = 0;
        while (end < n && used + resample_between(&calls[end]) <= room.size)
            used += resample_between(&calls[end++]);
        resample_part part = {calls + first, end - first, rows, {}, {}};
        HR_TRY(resample_run_part(l, &part, &room, staging, error));
    }
    return HR_STATUS_OK;
}

hr_status resample_run_images(hr_cuda_launch *l, const hr_op_call *calls, int32_t n,
                                hr_staging *staging, hr_error *error)
{
    hr_staged records;
    int32_t count = 0;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(hr_device_program), &records, error));
    for (int32_t i = 0; i < n; i++) {
        if (!resample_of(&calls[i])->images)
            continue;
        hr_device_program *to = (hr_device_program *)records.host + count++;
        *to = resample_of(&calls[i])->program;
        to->src = calls[i].in[0].data;
        to->dst = calls[i].out[0].data;
    }
    if (count == 0)
        return HR_STATUS_OK;
    HR_TRY(staging->flush(staging, error));
    return hr_cuda_program_run(l, records, count, error);
}

// `run` of operators whose memo begins with hr_resampling.
hr_status resample_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                       hr_error *error)
{
    HR_TRY(resample_run_images(l, calls, n, staging, error));
    return resample_run_axes(l, calls, n, staging, error);
}

// ---- resize ----

// The sizes that resize has as a second output.
struct resize_sizes {
    int32_t extent[3];
    int32_t *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        dst[i] = extent[i];
    }
};

hr_status sizes_make(resize_sizes *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const hr_resize *m = (const hr_resize *)c->memo;
    memcpy(r->extent, m->extent, sizeof r->extent);
    r->dst = (int32_t *)c->out[1].data;
    r->count = m->axes;
    return HR_STATUS_OK;
}

hr_status resize_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                     hr_error *error)
{
    if (calls[0].n_out > 1)
        HR_TRY(op::run<resize_sizes>(l, calls, n, staging, sizes_make, error));
    return resample_run(l, calls, n, staging, error);
}

// ---- filters with given taps ----

struct separable_tensors {
    hr_tensor in, out;
};

// `run` of operators whose memo is an hr_separable.
hr_status separable_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                        hr_error *error)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += ((const hr_separable *)calls[i].memo)->count;
    std::unique_ptr<hr_op_call[]> piece(new (std::nothrow) hr_op_call[count + 1]);
    std::unique_ptr<separable_tensors[]> tensor(new (std::nothrow) separable_tensors[count + 1]);
    if (!piece || !tensor) { // the module does not link hr_fail
        if (error) {
            error->status = HR_STATUS_NO_MEMORY;
            snprintf(error->message, sizeof error->message, "out of memory for %d pieces",
                     (int)count);
        }
        return HR_STATUS_NO_MEMORY;
    }
    count = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < ((const hr_separable *)calls[i].memo)->count; k++, count++)
            piece[count] = hr__separable_piece(&calls[i], k, &tensor[count].in, &tensor[count].out);
    return count > 0 ? resample_run(l, piece.get(), count, staging, error) : HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(fast_resize_crop_mirror, "fast_resize_crop_mirror", resample_run);
HR_CUDA_OP(gaussian_blur, "gaussian_blur", separable_run);
HR_CUDA_OP(laplacian, "laplacian", separable_run);
HR_CUDA_OP(resize, "resize", resize_run);
HR_CUDA_OP(resize_crop_mirror, "resize_crop_mirror", resample_run);
HR_CUDA_OP(tensor_resize, "tensor_resize", resample_run);
