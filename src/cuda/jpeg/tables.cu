// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The first launch of a batch: builds Huffman tables, one per thread block, and sums up where each
// image's data begins.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr int THREADS = 128;

template <uint32_t hr_jpeg_work::*field>
__device__ void lay_out(const hr_jpeg_batch *b, uint32_t *sums)
{
    uint32_t share = HR_DIVIDE_UP(b->count, THREADS), sum = 0, all;
    uint32_t from = min(threadIdx.x * share, b->count), to = min(from + share, b->count);
    for (uint32_t i = from; i < to; i++)
        sum += b->work[i].*field;
    sum = hr_jpeg_sum_before<THREADS>(sums, sum, &all);
    for (uint32_t i = from; i < to; i++) {
        uint32_t own = b->work[i].*field;
        b->work[i].*field = sum;
        sum += own;
    }
    if (threadIdx.x == 0)
        b->work[b->count].*field = all;
}

__device__ void lay_out_all(const hr_jpeg_batch *b)
{
    __shared__ uint32_t sums[THREADS];
    uint32_t share = HR_DIVIDE_UP(b->count, THREADS);
    uint32_t from = min(threadIdx.x * share, b->count), to = min(from + share, b->count);
    for (uint32_t i = from; i < to; i++) {
        b->work[i] = hr_jpeg_work_of(&b->images[i]);
        b->done[i] = 0;
    }
    lay_out<&hr_jpeg_work::sub>(b, sums);
    lay_out<&hr_jpeg_work::block>(b, sums);
    lay_out<&hr_jpeg_work::strip>(b, sums);
    lay_out<&hr_jpeg_work::piece>(b, sums);
}

// For each code length: the first 16-bit window above its codes, and the offset from code to
// symbol.
struct codes {
    uint32_t limit[17];
    int32_t offset[17];
};

__device__ void find_codes(codes *c, const uint8_t *counts)
{
    uint32_t code = 0;
    int32_t first = 0;
    c->limit[0] = 0;
    for (int length = 1; length <= 16; length++) {
        c->offset[length] = first - (int32_t)(code >> (16 - length));
        code += (uint32_t)counts[length - 1] << (16 - length);
        first += counts[length - 1];
        c->limit[length] = code;
    }
}

__device__ void build_table(hr_jpeg_table *t, const uint8_t *definition, int symbols, bool ac)
{
    __shared__ codes c;
    if (threadIdx.x == 0)
        find_codes(&c, definition);
    __syncthreads();
    definition += 16;
    for (int i = (int)threadIdx.x; i < 256; i += THREADS)
        t->symbols[i] = i < symbols ? definition[i] : 0;
    if (threadIdx.x < 6) {
        t->limit[threadIdx.x] = c.limit[11 + threadIdx.x];
        t->offset[threadIdx.x] = c.offset[11 + threadIdx.x];
        t->ac = ac;
    }
    for (uint32_t i = threadIdx.x; i < HR_JPEG_DEVICE_FAST_SIZE; i += THREADS) {
        uint32_t top = i << (16 - HR_JPEG_DEVICE_FAST_BITS), length = 1, entry = 0;
        while (length <= HR_JPEG_DEVICE_FAST_BITS && top >= c.limit[length])
            length++;
        if (length <= HR_JPEG_DEVICE_FAST_BITS) {
            int32_t at = (int32_t)(top >> (16 - length)) + c.offset[length];
            entry = hr_jpeg_entry(length, definition[at & (symbols - 1)], ac);
        }
        t->fast[i] = entry;
    }
}

__global__ void __launch_bounds__(THREADS) make_tables(hr_jpeg_batch b)
{
    if (blockIdx.x == 0) {
        lay_out_all(&b);
        return;
    }
    uint32_t i = (blockIdx.x - 1) / HR_JPEG_TABLES_MAX, n = (blockIdx.x - 1) % HR_JPEG_TABLES_MAX;
    const hr_jpeg_device_image *image = &b.images[i];
    hr_jpeg_table *t = &b.tables[blockIdx.x - 1];
    if (n < image->dc_count)
        build_table(t, image->dc_table[n], 16, false);
    else if (n < (uint32_t)image->dc_count + image->ac_count)
        build_table(t, image->ac_table[n - image->dc_count], 256, true);
}

} // namespace

cudaError_t hr__jpeg_tables(const hr_jpeg_batch *b, cudaStream_t stream)
{
    HR_CUDA_LAUNCH(make_tables, 1 + b->count * HR_JPEG_TABLES_MAX, THREADS, stream, *b);
    return cudaGetLastError();
}
