// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Element by element, for types of at most four bytes: a thread has 16 elements in registers, as
// words of 32 bits. Whatever depends on the type is a branch around a loop over the 16. They are
// groups of neighbours, which are one access to memory, except at the ends of a sample: of 4
// elements, or of 8 or 16 if no type is so large that these have more than 16 bytes.
#pragma once

#include "cuda/image/unroll.cuh"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace op
{

constexpr int QUADS = 4;
constexpr int QUAD_TILE = THREADS * QUADS * 4;

typedef uint32_t quads[QUADS][4];

// The elements of a thread: group g is `first + g * THREADS * wide` and those that follow it.
struct quad_range {
    int64_t first, count;
    int32_t wide; // elements of a group
    bool aligned;

    HR_DEVICE int64_t at(int g) const
    {
        return first + g * (THREADS * wide);
    }

    HR_DEVICE bool is_whole(int g) const
    {
        return aligned && at(g) >= 0 && at(g) + wide <= count;
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
    int32_t lead, wide;
    bool aligned;

    // Elements of a block: a thread has the more groups, the smaller the elements are.
    HR_MEMBER int64_t tile() const
    {
        return (int64_t)QUAD_TILE / 4 * wide;
    }

    HR_DEVICE quad_range range(int64_t from, int thread) const
    {
        return {from + thread * wide - lead, count, wide, aligned};
    }
};

static inline bool quad_aligns(const void *data, int32_t size, int32_t lead, int32_t wide)
{
    return data == nullptr ||
           ((uintptr_t)data - (uintptr_t)(lead * size)) % (uintptr_t)(wide * size) == 0;
}

// `a`, `b`: inputs, which may be NULL.
static inline void quad_begin(quad_record *r, int64_t count, const void *a, int32_t a_size,
                              const void *b, int32_t b_size, const void *dst, int32_t dst_size)
{
    int32_t size = HR_MAX(dst_size, HR_MAX(a ? a_size : 1, b ? b_size : 1));
    *r = {count, 0, 4, false};
    for (int32_t wide = 16 / size; wide >= 4 && !r->aligned; wide /= 2) {
        for (int32_t lead = 0; lead < wide && !r->aligned; lead++)
            if (quad_aligns(a, a_size, lead, wide) && quad_aligns(b, b_size, lead, wide) &&
                quad_aligns(dst, dst_size, lead, wide))
                *r = {count, lead, wide, true};
    }
}

// One access to memory.
template <int WORDS> HR_DEVICE void words_load(uint32_t *to, const void *from)
{
    if constexpr (WORDS == 4) {
        const uint4 all = *(const uint4 *)from;
        to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
    } else if constexpr (WORDS == 2) {
        const uint2 all = *(const uint2 *)from;
        to[0] = all.x, to[1] = all.y;
    } else {
        to[0] = *(const uint32_t *)from;
    }
}

template <int WORDS> HR_DEVICE void words_store(void *to, const uint32_t *from)
{
    if constexpr (WORDS == 4)
        *(uint4 *)to = make_uint4(from[0], from[1], from[2], from[3]);
    else if constexpr (WORDS == 2)
        *(uint2 *)to = make_uint2(from[0], from[1]);
    else
        *(uint32_t *)to = from[0];
}

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

template <typename T, int N>
HR_DEVICE void quads_load_groups(quads v, const T *src, const quad_range &range)
{
    constexpr int PER = 4 / sizeof(T); // elements of a word
    HR_UNROLL
    for (int g = 0; g < 16 / N; g++) {
        if (range.is_whole(g)) {
            uint32_t word[N / PER];
            words_load<N / PER>(word, src + range.at(g));
            HR_UNROLL
            for (int k = 0; k < N; k++)
                v[(g * N + k) / 4][k % 4] = (uint32_t)(T)(word[k / PER] >> k % PER * 8 * sizeof(T));
        } else {
            HR_UNROLL
            for (int k = 0; k < N; k++)
                v[(g * N + k) / 4][k % 4] = range.has(g, k) ? (uint32_t)src[range.at(g) + k] : 0;
        }
    }
}

template <typename T, int N>
HR_DEVICE void quads_store_groups(const quads v, T *dst, const quad_range &range)
{
    constexpr int PER = 4 / sizeof(T);
    HR_UNROLL
    for (int g = 0; g < 16 / N; g++) {
        if (range.is_whole(g)) {
            uint32_t word[N / PER] = {};
            HR_UNROLL
            for (int k = 0; k < N; k++)
                word[k / PER] |= (uint32_t)(T)v[(g * N + k) / 4][k % 4] << k % PER * 8 * sizeof(T);
            words_store<N / PER>(dst + range.at(g), word);
        } else {
            HR_UNROLL
            for (int k = 0; k < N; k++)
                if (range.has(g, k))
                    dst[range.at(g) + k] = (T)v[(g * N + k) / 4][k % 4];
        }
    }
}

template <typename T> HR_DEVICE void quads_load_as(quads v, const T *src, const quad_range &range)
{
    if (sizeof(T) == 1 && range.wide == 16)
        quads_load_groups<T, sizeof(T) == 1 ? 16 : 4>(v, src, range);
    else if (sizeof(T) <= 2 && range.wide == 8)
        quads_load_groups<T, sizeof(T) <= 2 ? 8 : 4>(v, src, range);
    else
        quads_load_groups<T, 4>(v, src, range);
}

// T: unsigned.
template <typename T> HR_DEVICE void quads_store_as(const quads v, T *dst, const quad_range &range)
{
    if (sizeof(T) == 1 && range.wide == 16)
        quads_store_groups<T, sizeof(T) == 1 ? 16 : 4>(v, dst, range);
    else if (sizeof(T) <= 2 && range.wide == 8)
        quads_store_groups<T, sizeof(T) <= 2 ? 8 : 4>(v, dst, range);
    else
        quads_store_groups<T, 4>(v, dst, range);
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
    int64_t first = tile * record.tile();
    int64_t end = HR_MIN(first + record.tile(), record.count + record.lead);
    for (; first < end; first += QUAD_TILE)
        record.process(record.range(first, (int)threadIdx.x));
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
            int64_t tile = host[i].tile();
            return host[i].count > 0 ? HR_DIVIDE_UP(host[i].count + host[i].lead, tile) : 0;
        },
        error);
#else
    return hr_cuda_queue(
        l,
        [=] {
            for (int32_t r = 0; r < n; r++)
                for (int64_t first = 0; first - at[r].lead < at[r].count; first += QUAD_TILE)
                    for (int32_t thread = 0; thread < THREADS; thread++)
                        at[r].process(at[r].range(first, thread));
        },
        error);
#endif
}

} // namespace op
