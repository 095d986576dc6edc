// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The inverse DCT, one thread per block. The arithmetic is that of the CPU (kernels/jpeg_shared.h),
// including where it wraps and saturates.
#include "cuda/jpeg/decode.cuh"
#include "kernels/jpeg_shared.h"

namespace
{

constexpr int THREADS = 128;

__device__ __forceinline__ int wrap(int v)
{
    return (int16_t)v;
}

__host__ __device__ constexpr int natural(int k)
{
    constexpr uint8_t zigzag[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    return zigzag[k];
}

// Dequantises to 16 bits, in natural order. Returns 0 if all coefficients below the first row are
// zero. `quant` holds pairs in zigzag order, as the coefficients do.
template <int K = 0>
__device__ __forceinline__ uint32_t load(int v[64], const int4 *coefs, const uint32_t *quant)
{
    uint32_t below = 0;
    if constexpr (K < 8) {
        int4 eight = coefs[K];
        const int pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            constexpr int first = 8 * K;
            uint32_t q = quant[4 * K + i], p = (uint32_t)pairs[i];
            int low = first + 2 * i, high = low + 1;
            v[natural(low)] = wrap((int)((p & 0xFFFF) * (q & 0xFFFF)));
            v[natural(high)] = wrap((int)((p >> 16) * (q >> 16)));
            below |= natural(low) >= 8 ? p & 0xFFFF : 0;
            below |= natural(high) >= 8 ? p >> 16 : 0;
        }
        below |= load<K + 1>(v, coefs, quant);
    }
    return below;
}

// Only the first row has coefficients. The result wraps where the full transform would saturate.
__device__ __forceinline__ void spread_first_row(int v[64])
{
#pragma unroll
    for (int c = 0; c < 8; c++) {
        v[c] = wrap((int)((uint32_t)v[c] << PASS1_BITS));
#pragma unroll
        for (int r = 1; r < 8; r++)
            v[8 * r + c] = v[c];
    }
}

// Packs four samples, saturated to signed 8 bits, and adds CENTER.
__device__ __forceinline__ uint32_t pack_samples(int a, int b, int c, int d)
{
    uint32_t all;
#ifdef __CUDA_ARCH__
    uint32_t high;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
#else
    auto sample = [](int v) { return (uint32_t)(uint8_t)max(min(v, CENTER - 1), -CENTER); };
    all = sample(a) | sample(b) << 8 | sample(c) << 16 | sample(d) << 24;
#endif
    return all ^ 0x01010101u * CENTER;
}

__device__ __forceinline__ void transform_block(uint8_t *dst, uint32_t stride, int v[64], bool flat)
{
    if (flat) {
        spread_first_row(v);
    } else {
#pragma unroll
        for (int c = 0; c < 8; c++)
            hr_jpeg_idct_1d(v + c, v + 8 + c, v + 16 + c, v + 24 + c, v + 32 + c, v + 40 + c,
                            v + 48 + c, v + 56 + c, CONST_BITS - PASS1_BITS);
    }
#pragma unroll
    for (int r = 0; r < 8; r++) {
        int *w = v + 8 * r;
        hr_jpeg_idct_1d(w, w + 1, w + 2, w + 3, w + 4, w + 5, w + 6, w + 7,
                        CONST_BITS + PASS1_BITS + 3);
        uint2 row = {pack_samples(w[0], w[1], w[2], w[3]), pack_samples(w[4], w[5], w[6], w[7])};
        *(uint2 *)(dst + (size_t)r * stride) = row;
    }
}

__global__ void __launch_bounds__(THREADS)
    transform(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ uint32_t quant[3][32];
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    hr_jpeg_work work = b.work[i];
    for (int k = (int)threadIdx.x; k < 96; k += THREADS)
        (&quant[0][0])[k] =
            (&image->quant[0][0])[2 * k] | (uint32_t)(&image->quant[0][0])[2 * k + 1] << 16;
    __syncthreads();
    uint32_t n = (uint32_t)tile * THREADS + threadIdx.x, size;
    if (n >= b.work[i + 1].block - work.block)
        return;
    size_t offset = (size_t)(work.block - b.work[b.from].block) * 64;
    /* any value if the scan is damaged */
    uint32_t owner = min(b.owner[offset / 64 + n], image->subs - 1);
    const int4 *coefs = (const int4 *)(b.coefs + offset + (size_t)n * 64);
    uint8_t *plane = b.planes + offset;
    int component = 0;
    while (n >= (size = hr_jpeg_component_blocks(image, component))) {
        n -= size;
        plane += (size_t)size * 64;
        component++;
    }
    uint32_t across = hr_jpeg_across(image, component), y = n / across, x = n - y * across;
    // DC coefficients of progressive files are complete
    const int32_t *predicted = b.predicted + 3 * ((size_t)work.sub + owner) + component;
    uint32_t dc = image->passes ? 0 : (uint32_t)*predicted;
    int values[64];
    uint32_t below = load(values, coefs, quant[component]);
    values[0] = wrap((int)((uint32_t)values[0] + dc * (quant[component][0] & 0xFFFF)));
    transform_block(plane + ((size_t)y * 8 * across + x) * 8, across * 8, values, below == 0);
}

} // namespace

cudaError_t hr__jpeg_transform(const hr_jpeg_batch *b, cudaStream_t stream)
{
    hr_jpeg_launch(transform, b, THREADS, stream, [](const hr_jpeg_device_image *image) {
        return HR_DIVIDE_UP(hr_jpeg_window_blocks(image), THREADS);
    });
    return cudaGetLastError();
}
