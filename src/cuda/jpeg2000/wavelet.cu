// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The inverse wavelets (annex F of T.800): each level joins four bands, first along rows, from the
// planes to the spare ones, then along columns, back to the planes. A thread makes two neighbours
// from all that they depend on. The 9/7 wavelet has the operations of OpenJPEG in the same order.
#include "cuda/jpeg2000/decode.cuh"

namespace jpeg2000
{
namespace
{

constexpr uint32_t ACROSS = 64, DOWN = 4, THREADS = ACROSS * DOWN;

// A line of n samples, `step` elements apart: all low ones, then all high ones. Once joined, sample
// i is a low one if i + odd is even.
template <typename T> struct Line {
    const T *in;
    uint32_t step;
    int32_t n, odd;

    // Sample i of the joined line; beyond its ends it is mirrored.
    __device__ T at(int32_t i) const
    {
        while (i < 0 || i >= n) // more than once in short lines only
            i = i < 0 ? -i : 2 * (n - 1) - i;
        int32_t low = (n + 1 - odd) / 2, k = i / 2 + ((i + odd) & 1 ? low : 0);
        return in[(size_t)k * step];
    }
};

struct Wavelet53 {
    typedef int32_t Sample;

    static __device__ int32_t low(int32_t v, int32_t before, int32_t after)
    {
        uint32_t sum = (uint32_t)before + (uint32_t)after + 2;
        return (int32_t)((uint32_t)v - (uint32_t)((int32_t)sum >> 2));
    }

    // The low sample i and the high one after it.
    static __device__ void join(const Line<int32_t> &line, int32_t i, int32_t out[2])
    {
        int32_t high = line.at(i + 1);
        int32_t first = low(line.at(i), line.at(i - 1), high);
        int32_t next = low(line.at(i + 2), high, line.at(i + 3));
        uint32_t sum = (uint32_t)first + (uint32_t)next;
        out[0] = first;
        out[1] = (int32_t)((uint32_t)high + (uint32_t)((int32_t)sum >> 1));
    }

    // The only sample of a line.
    static __device__ int32_t alone(int32_t v, bool high)
    {
        return high ? v / 2 : v;
    }
};

struct Wavelet97 {
    typedef float Sample;

    static __device__ void join(const Line<float> &line, int32_t i, float out[2])
    {
        // a step changes the low samples, the next one the high ones, and so on
        const float steps[] = {-0.443506852f, -0.882911075f, 0.052980118f, 1.586134342f};
        const float low = 1.230174105f, high = 1.625732422f;
        float v[9]; // from sample i - 3
#pragma unroll
        for (int k = 0; k < 9; k++)
            v[k] = line.at(i - 3 + k) * (k % 2 ? low : high);
#pragma unroll
        for (int s = 0; s < 4; s++)
#pragma unroll
            for (int k = s + 1; k < 8 - s; k += 2)
                v[k] = v[k] + (v[k - 1] + v[k + 1]) * steps[s];
        out[0] = v[3];
        out[1] = v[4];
    }

    static __device__ float alone(float v, bool)
    {
        return v;
    }
};

// Joins pair number `pair` of a line, and writes those of its samples that exist.
template <typename Wavelet, typename T>
static __device__ void join_pair(const Line<T> &line, T *to, uint32_t pair)
{
    int32_t i = 2 * (int32_t)pair - line.odd;
    if (i >= line.n || line.n == 0)
        return;
    if (line.n == 1) {
        to[0] = Wavelet::alone(line.in[0], line.odd != 0);
        return;
    }
    T out[2];
    Wavelet::join(line, i, out);
    if (i >= 0)
        to[(size_t)i * line.step] = out[0];
    if (i + 1 < line.n)
        to[(size_t)(i + 1) * line.step] = out[1];
}

// Bounds of the pairs and of the samples of a line that has at most `most` samples at the highest
// resolution.
static __host__ __device__ uint32_t pairs_of(uint32_t most, uint32_t shift)
{
    return up(most, shift) / 2 + 2;
}

static __host__ __device__ uint32_t samples_of(uint32_t most, uint32_t shift)
{
    return up(most, shift) + 1;
}

// Rows or columns of the level that follows `before` others, from the lowest resolution.
template <typename Wavelet>
static __device__ void join_lines(const Image &image, const Memory &memory, int tile,
                                  uint32_t before, bool columns)
{
    typedef typename Wavelet::Sample T;
    uint32_t shift = image.levels - before - 1;
    uint32_t across = columns ? samples_of(image.part_w, shift) : pairs_of(image.part_w, shift);
    uint32_t down = columns ? pairs_of(image.part_h, shift) : samples_of(image.part_h, shift);
    uint32_t tiles_x = divide_up(across, ACROSS), tiles_y = divide_up(down, DOWN);
    uint32_t t = (uint32_t)tile, x = t % tiles_x * ACROSS + threadIdx.x % ACROSS;
    uint32_t y = t / tiles_x % tiles_y * DOWN + threadIdx.x / ACROSS;
    Part part = image.parts[t / tiles_x / tiles_y];
    uint32_t x0 = up(part.x0, shift), y0 = up(part.y0, shift), stride = part.x1 - part.x0;
    uint32_t w = up(part.x1, shift) - x0, h = up(part.y1, shift) - y0;
    if (columns ? x >= w : y >= h)
        return;
    size_t at = part.at + (columns ? x : (size_t)y * stride);
    T *plane = memory.plane<T>(&image), *spare = memory.spare<T>(&image);
    const T *from = (columns ? spare : plane) + at;
    T *to = (columns ? plane : spare) + at;
    Line<T> line = {from, columns ? stride : 1, (int32_t)(columns ? h : w),
                    (int32_t)((columns ? y0 : x0) & 1)};
    join_pair<Wavelet>(line, to, columns ? y : x);
}

__global__ void __launch_bounds__(THREADS)
    join(const Image *images, const tiles::Share share, Memory memory, uint32_t before, bool columns)
{
    int tile, i = tiles::find(share, &tile);
    const Image &image = images[i];
    if (image.reversible)
        join_lines<Wavelet53>(image, memory, tile, before, columns);
    else
        join_lines<Wavelet97>(image, memory, tile, before, columns);
}

uint32_t tiles_of(const Image *image, uint32_t before, bool columns)
{
    if (before >= image->levels)
        return 0;
    uint32_t shift = image->levels - before - 1;
    uint32_t across = columns ? samples_of(image->part_w, shift) : pairs_of(image->part_w, shift);
    uint32_t down = columns ? pairs_of(image->part_h, shift) : samples_of(image->part_h, shift);
    return image->part_count * divide_up(across, ACROSS) * divide_up(down, DOWN);
}

} // namespace

cudaError_t join_bands(const Batch &b)
{
    uint32_t levels = 0;
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < b.count; i++)
        levels = max(levels, b.host[i].levels);
    for (uint32_t k = 0; k < 2 * levels && code == cudaSuccess; k++) {
        uint32_t before = k / 2;
        bool columns = k % 2;
        code = tiles::launch(
            join, b.host, b.device, b.count, THREADS, b.stream,
            [=](const Image *image) { return tiles_of(image, before, columns); }, b.memory, before,
            columns);
    }
    return code;
}

} // namespace jpeg2000
