// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Many pieces copied in one launch.
#include "cuda/error.cuh"
#include "cuda/runtime.cuh"
#include "cuda/tiles.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int EACH = 4;                                  // accesses of a thread
constexpr size_t TILE = (size_t)THREADS * EACH * 16;     // bytes of the destination
constexpr uint64_t BLOCK_MASK = 15;

// Copies byte by byte.
__device__ void copy_bytes(char *dst, const char *src, size_t from, size_t end)
{
    for (size_t i = from + threadIdx.x; i < end; i += THREADS)
        dst[i] = src[i];
}

// Copies units of 16 bytes at aligned addresses of the destination. SHIFTED: the source is not
// aligned like the destination, so a unit is cut out of aligned words.
template <bool SHIFTED>
__device__ void copy_units(char *dst, const char *src, size_t from, size_t end)
{
    uint4 unit[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        size_t i = from + ((size_t)k * THREADS + threadIdx.x) * 16;
        if (i >= end)
            continue;
        if (SHIFTED) {
            const uint32_t *word = (const uint32_t *)((uintptr_t)(src + i) & ~(uintptr_t)3);
            uint32_t shift = (uint32_t)(uintptr_t)(src + i) * 8 & 24;
            uint32_t w[5] = {word[0], word[1], word[2], word[3], shift ? word[4] : 0};
            unit[k] = make_uint4(__funnelshift_r(w[0], w[1], shift),
                                 __funnelshift_r(w[1], w[2], shift),
                                 __funnelshift_r(w[2], w[3], shift),
                                 __funnelshift_r(w[3], w[4], shift));
        } else {
            unit[k] = *(const uint4 *)(src + i);
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        size_t i = from + ((size_t)k * THREADS + threadIdx.x) * 16;
        if (i < end)
            *(uint4 *)(dst + i) = unit[k];
    }
}

// Tiles are cut at aligned addresses of the destination. Bytes before the first unit and after the
// last are copied one by one, and with SHIFTED the first and the last unit, too: words around them
// may be outside of the source.
__global__ void __launch_bounds__(THREADS)
    copy_pieces(const hr_cuda_copy *pieces, const __grid_constant__ tiles::Share share)
{
    int tile, i = tiles::find(share, &tile);
    if (i < 0)
        return;
    hr_cuda_copy piece = pieces[i];
    char *dst = (char *)piece.dst;
    const char *src = (const char *)piece.src;
    bool shifted = (((uintptr_t)dst ^ (uintptr_t)src) & BLOCK_MASK) != 0;
    size_t edge = shifted ? 16 : 0, head = (16 - ((uintptr_t)dst & BLOCK_MASK)) & BLOCK_MASK;
    size_t first = HR_MIN(head + edge, piece.size), units = (piece.size - first) / 16 * 16;
    units = units > edge ? units - edge : 0;
    size_t from = first + (size_t)tile * TILE, end = HR_MIN(from + TILE, first + units);
    if (tile == 0) {
        copy_bytes(dst, src, 0, first);
        copy_bytes(dst, src, first + units, piece.size);
    }
    if (from >= end)
        return;
    if (shifted)
        copy_units<true>(dst, src, from, end);
    else
        copy_units<false>(dst, src, from, end);
}

} // namespace

hr_status hr_cuda_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error)
{
    const hr_cuda_copy *host = (const hr_cuda_copy *)copies.host;
    const hr_cuda_copy *device = (const hr_cuda_copy *)copies.device;
    for (int32_t from = 0, n; from < count; from += n) {
        tiles::Share share;
        n = tiles::fill(&share, count - from,
                        [=](int i) { return HR_DIVIDE_UP(host[from + i].size, TILE); });
        if (share.first[n] == 0)
            continue;
        copy_pieces<<<tiles::grid(share), THREADS, 0, (cudaStream_t)l->stream>>>(device + from,
                                                                                 share);
        HR_CUDA_TRY(cudaGetLastError());
    }
    return HR_STATUS_OK;
}
