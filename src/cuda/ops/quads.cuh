// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Element by element, for types of at most four bytes: a thread has 16 elements in registers, four
// neighbours at a time, as words of 32 bits. Whatever depends on the type is a branch around a loop
// over the 16. Four elements are one access to memory, except at the ends of a sample.
#ifndef HR_CUDA_OPS_QUADS_CUH
#define HR_CUDA_OPS_QUADS_CUH

#include "cuda/image/unroll.cuh"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace op
{

constexpr int QUADS = 4;
constexpr int QUAD_TILE = THREADS * QUADS * 4;

typedef uint32_t quads[QUADS][4];

// The elements of a thread: group g is `first + g * THREADS * 4` and the next three.
struct quad_range {
    int64_t first, count;
    bool aligned;

    HR_DEVICE int64_t at(int g) const
    {
        return first + g * (THREADS * 4);
    }

    HR_DEVICE bool is_whole(int g) const
    {
        return aligned && at(g) >= 0 && at(g) + 4 <= count;
    }

    HR_DEVICE bool has(int g, int k) const
    {
        return at(g) + k >= 0 && at(g) + k < count;
    }
};

// What a record begins with.
struct quad_record {
    int64_t count;
    // Groups begin `lead` elements before element 0, so that they are aligned if that is possible.
    int32_t lead;
    bool aligned;
};

static inline bool quad_aligns(const void *data, int32_t size, int32_t lead)
{
    return data == nullptr ||
           ((uintptr_t)data - (uintptr_t)(lead * size)) % (uintptr_t)(4 * size) == 0;
}

// `a`, `b`: inputs, which may be NULL.
static inline void quad_begin(quad_record *r, int64_t count, const void *a, int32_t a_size,
                              const void *b, int32_t b_size, const void *dst, int32_t dst_size)
{
    *r = {count, 0, false};
    for (int32_t lead = 0; lead < 4 && !r->aligned; lead++) {
        r->aligned = quad_aligns(a, a_size, lead) && quad_aligns(b, b_size, lead) &&
                     quad_aligns(dst, dst_size, lead);
        r->lead = r->aligned ? lead : 0;
    }
}

template <typename T> struct alignas(4 * sizeof(T)) four {
    T v[4];
};

// `body(word)` for all words.
template <typename Body> HR_DEVICE void quads_each(quads v, const Body &body)
{
    HR_UNROLL
    for (int g = 0; g < QUADS; g++) {
        HR_UNROLL
        for (int k = 0; k < 4; k++)
            v[g][k] = body(v[g][k]);
    }
}

template <typename T> HR_DEVICE void quads_load_as(quads v, const T *src, const quad_range &range)
{
    HR_UNROLL
    for (int g = 0; g < QUADS; g++) {
        if (range.is_whole(g)) {
            const four<T> all = *(const four<T> *)(src + range.at(g));
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                v[g][k] = (uint32_t)all.v[k];
        } else {
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                v[g][k] = range.has(g, k) ? (uint32_t)src[range.at(g) + k] : 0;
        }
    }
}

template <typename T> HR_DEVICE void quads_store_as(const quads v, T *dst, const quad_range &range)
{
    HR_UNROLL
    for (int g = 0; g < QUADS; g++) {
        if (range.is_whole(g)) {
            four<T> all;
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                all.v[k] = (T)v[g][k];
            *(four<T> *)(dst + range.at(g)) = all;
        } else {
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                if (range.has(g, k))
                    dst[range.at(g) + k] = (T)v[g][k];
        }
    }
}

// Elements as words: integers and BOOL extended to 32 bits, bits of floats.
static inline HR_DEVICE void quads_load(quads v, const void *src, int dtype,
                                        const quad_range &range)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
    case HR_DTYPE_BOOL:
        quads_load_as(v, (const uint8_t *)src, range);
        break;
    case HR_DTYPE_INT8:
        quads_load_as(v, (const int8_t *)src, range);
        break;
    case HR_DTYPE_UINT16:
    case HR_DTYPE_FLOAT16:
        quads_load_as(v, (const uint16_t *)src, range);
        break;
    case HR_DTYPE_INT16:
        quads_load_as(v, (const int16_t *)src, range);
        break;
    default:
        quads_load_as(v, (const uint32_t *)src, range);
    }
}

// The low bytes of the words.
static inline HR_DEVICE void quads_store(const quads v, void *dst, int size,
                                         const quad_range &range)
{
    if (size == 1)
        quads_store_as(v, (uint8_t *)dst, range);
    else if (size == 2)
        quads_store_as(v, (uint16_t *)dst, range);
    else
        quads_store_as(v, (uint32_t *)dst, range);
}

#if defined(__CUDACC__)
template <typename Record>
__global__ void __launch_bounds__(THREADS)
    each_quads(const Record *records, const __grid_constant__ tiles::Share share)
{
    int tile, r = tiles::find(share, &tile);
    if (r < 0)
        return;
    const Record record = records[r]; // stores might change it in memory
    int64_t first = (int64_t)tile * QUAD_TILE + threadIdx.x * 4 - record.lead;
    record.process({first, record.count, record.aligned});
}
#endif

// Processes all elements of every record by its member `process`.
template <typename Record>
hr_status launch_quads(hr_cuda_launch *l, hr_staged records, int32_t n, hr_error *error)
{
    const Record *at = (const Record *)records.device;
#if defined(__CUDACC__)
    const Record *host = (const Record *)records.host;
    return launch_tiles(
        l, each_quads<Record>, at, n,
        [=](int32_t i) {
            return host[i].count > 0 ? HR_DIVIDE_UP(host[i].count + host[i].lead, QUAD_TILE) : 0;
        },
        error);
#else
    return hr_cuda_queue(
        l,
        [=] {
            for (int32_t r = 0; r < n; r++)
                for (int64_t first = -at[r].lead; first < at[r].count; first += QUAD_TILE)
                    for (int32_t thread = 0; thread < THREADS; thread++)
                        at[r].process({first + thread * 4, at[r].count, at[r].aligned});
        },
        error);
#endif
}

} // namespace op

#endif
