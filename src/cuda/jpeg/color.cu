// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Pixels of the window from planes of samples: chroma upsampling and colour conversion, as in
// kernels/jpeg_rows.c.
#include "cuda/jpeg/decode.cuh"
#include "kernels/jpeg_shared.h"

namespace
{

constexpr int THREADS = 128;
constexpr int PIXELS = 4;         // of a group: pixels that a thread makes at a time
constexpr uint32_t GROUPS = 1024; // per thread block
constexpr uint32_t LINES = 8;     // of a bundle

// Groups of pixels that may cover a row; the first may begin before it.
HR_JPEG_HD uint32_t groups_in_row(const hr_jpeg_device_image *image)
{
    return HR_DIVIDE_UP((uint32_t)image->window_width + PIXELS - 1, PIXELS);
}

// Rows and columns of the window are swapped, so its columns are contiguous.
HR_JPEG_HD bool swapped(const hr_jpeg_device_image *image)
{
    return image->steps.y == image->channels || image->steps.y == -image->channels;
}

// Rows of groups. Those of a swapped image are processed in bundles, so that threads which work
// at the same time write pixels that are next to each other.
HR_JPEG_HD uint32_t lines_of(const hr_jpeg_device_image *image)
{
    uint32_t lines = (uint32_t)image->window_height;
    return swapped(image) ? HR_DIVIDE_UP(lines, LINES) * LINES : lines;
}

// One component: the samples of the window's MCUs.
struct plane {
    const uint8_t *samples; // address of the image's first sample, which need not be stored
    uint32_t stride;
    int width, height; // of the whole component

    __device__ __forceinline__ int at(int y, int x) const
    {
        return samples[(int64_t)y * stride + x];
    }
};

__device__ __forceinline__ plane find_plane(const hr_jpeg_device_image *image,
                                            const uint8_t *planes, int component)
{
    int h = component == 0 ? 1 : image->h, v = component == 0 ? 1 : image->v;
    uint32_t before = component == 0 ? 0 : hr_jpeg_component_blocks(image, 0);
    if (component == 2)
        before += hr_jpeg_component_blocks(image, 1);
    plane p;
    p.stride = hr_jpeg_across(image, component) * 8;
    p.samples = planes + (size_t)before * 64 - (int64_t)image->top * 8 * (image->v / v) * p.stride -
                (int64_t)image->left * 8 * (image->h / h);
    p.width = HR_DIVIDE_UP(image->width, h);
    p.height = HR_DIVIDE_UP(image->height, v);
    return p;
}

// Four neighbouring samples of a row, at any alignment.
struct four {
    int v[PIXELS];
};

__device__ __forceinline__ four load_four(const plane &p, int y, int x)
{
    const uint8_t *at = p.samples + (int64_t)y * p.stride + x;
    uint32_t shift = 8 * (uint32_t)((uintptr_t)at & 3);
    const uint32_t *words = (const uint32_t *)(at - shift / 8);
    uint32_t all = __funnelshift_r(words[0], words[1], shift);
    four f = {{(int)(all & 255), (int)(all >> 8 & 255), (int)(all >> 16 & 255), (int)(all >> 24)}};
    return f;
}

// The chroma samples for four pixels.
template <int H, int V> __device__ __forceinline__ four upsample(const plane &p, int y, int x)
{
    if (H == 1 && V == 1)
        return load_four(p, y, x);
    four f = {{0, 0, 0, 0}};
    if (H == 1) {
        int far = y & 1 ? min((y >> 1) + 1, p.height - 1) : max((y >> 1) - 1, 0);
        four a = load_four(p, y >> 1, x), b = load_four(p, far, x);
        for (int k = 0; k < PIXELS; k++)
            f.v[k] = (3 * a.v[k] + b.v[k] + (y & 1 ? 2 : 1)) >> 2;
        return f;
    }
    if (H == 4) {
        for (int k = 0; k < PIXELS; k++)
            f.v[k] = p.at(y, min((x + k) >> 2, p.width - 1));
        return f;
    }
    // columns from the one before the first to the one after the last
    int first = (x >> 1) - 1, near = V == 2 ? y >> 1 : y, column[PIXELS];
    int far = y & 1 ? min(near + 1, p.height - 1) : max(near - 1, 0);
#pragma unroll
    for (int k = 0; k < 5; k++) {
        int at = max(min(first + k, p.width - 1), 0);
        int v = V == 2 ? 3 * p.at(near, at) + p.at(far, at) : p.at(near, at);
        column[k % PIXELS] = v;
        // both neighbours of the previous column are known: its two pixels
        if (k >= 2) {
            int middle = 3 * column[(k - 1) % PIXELS];
            int even = middle + column[(k - 2) % PIXELS], odd = middle + column[k % PIXELS];
            even = V == 2 ? (even + 8) >> 4 : (even + 1) >> 2;
            odd = V == 2 ? (odd + 7) >> 4 : (odd + 2) >> 2;
            int to = 2 * (k - 2) - (x & 1);
#pragma unroll
            for (int i = 0; i < PIXELS; i++)
                f.v[i] = to == i ? even : to + 1 == i ? odd : f.v[i];
        }
    }
    return f;
}

__device__ __forceinline__ uint32_t clamp(int v)
{
    return (uint32_t)max(min(v, 255), 0);
}

// Red, green, blue of four pixels, in the order in which they are stored.
__device__ __forceinline__ void mix(uint32_t out[3], const four &y, const four &b, const four &r,
                                    bool rgb)
{
    uint32_t c[3 * PIXELS];
#pragma unroll
    for (int k = 0; k < PIXELS; k++) {
        int cb = b.v[k] - 128, cr = r.v[k] - 128;
        c[3 * k] = rgb ? (uint32_t)y.v[k] : clamp(y.v[k] + ((R_CR * cr + HALF) >> 16));
        c[3 * k + 1] =
            rgb ? (uint32_t)b.v[k] : clamp(y.v[k] + ((HALF - G_CB * cb - G_CR * cr) >> 16));
        c[3 * k + 2] = rgb ? (uint32_t)r.v[k] : clamp(y.v[k] + ((B_CB * cb + HALF) >> 16));
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
        out[k] = c[4 * k] | c[4 * k + 1] << 8 | c[4 * k + 2] << 16 | c[4 * k + 3] << 24;
}

// Stores pixels from .. to - 1 of the four in `pixels`; pixel k goes to dst + k * step.
__device__ __forceinline__ void store(uint8_t *dst, int64_t step, const uint32_t pixels[3],
                                      int from, int to)
{
    if (step == 3 && from == 0 && to == PIXELS) {
#pragma unroll
        for (int k = 0; k < 3; k++)
            ((uint32_t *)dst)[k] = pixels[k];
        return;
    }
#pragma unroll
    for (int k = 0; k < 3 * PIXELS; k++)
        if (k / 3 >= from && k / 3 < to)
            dst[k / 3 * step + k % 3] = (uint8_t)(pixels[k / 4] >> (8 * (k % 4)));
}

// The row of the window and the group in it that number `n` stands for.
struct place {
    uint32_t line, group;
};

__device__ __forceinline__ place find_place(const hr_jpeg_device_image *image, uint32_t n,
                                            uint32_t row)
{
    if (!swapped(image))
        return {n / row, n % row};
    uint32_t bundle = n / (LINES * row), within = n % (LINES * row);
    return {bundle * LINES + within % LINES, within / LINES};
}

// Four pixels, some of which may be outside of the row.
struct group {
    uint8_t *dst; // of the first one
    int y, x;     // in the image
    int from, to; // those to process; none if `from` is not below `to`
};

// The first group may begin before the row, so that all groups begin at a multiple of four bytes if
// the pixels are written in their order.
template <int CHANNELS>
__device__ __forceinline__ group find_group(const hr_jpeg_device_image *image, uint32_t n,
                                            uint32_t row)
{
    place p = find_place(image, n, row);
    uint8_t *dst = image->dst + image->steps.first + (int64_t)p.line * image->steps.y;
    // 3 * at + beyond must be a multiple of 4, and so must at - beyond of one channel
    int beyond = (int)((uintptr_t)dst & 3);
    beyond = CHANNELS == 1 ? (4 - beyond) & 3 : beyond;
    int at = (int)p.group * PIXELS + (beyond > 0 ? beyond - 4 : 0);
    group g;
    g.dst = dst + at * image->steps.x;
    g.y = image->window_y + (int)p.line;
    g.x = image->window_x + at;
    g.from = max(0, -at);
    g.to = (int)p.line < image->window_height ? min(PIXELS, image->window_width - at) : 0;
    return g;
}

template <int H, int V>
__device__ void color_groups(const hr_jpeg_device_image *image, const uint8_t *planes,
                             uint32_t first, uint32_t row)
{
    plane luma = find_plane(image, planes, 0);
    plane cb = find_plane(image, planes, 1), cr = find_plane(image, planes, 2);
    uint32_t end = min(first + GROUPS, row * lines_of(image));
    bool rgb = image->rgb != 0;
    for (uint32_t n = first + threadIdx.x; n < end; n += THREADS) {
        group g = find_group<3>(image, n, row);
        if (g.from >= g.to)
            continue;
        uint32_t out[3];
        mix(out, load_four(luma, g.y, g.x), upsample<H, V>(cb, g.y, g.x),
            upsample<H, V>(cr, g.y, g.x), rgb);
        store(g.dst, image->steps.x, out, g.from, g.to);
    }
}

// Stores pixels from .. to - 1 of four grey ones.
__device__ __forceinline__ void store_grey(uint8_t *dst, int64_t step, const four &y, int from,
                                           int to)
{
    uint32_t word = (uint32_t)y.v[0] | (uint32_t)y.v[1] << 8 | (uint32_t)y.v[2] << 16 |
                    (uint32_t)y.v[3] << 24;
    if (step == 1 && from == 0 && to == PIXELS) {
        *(uint32_t *)dst = word;
        return;
    }
#pragma unroll
    for (int k = 0; k < PIXELS; k++)
        if (k >= from && k < to)
            dst[k * step] = (uint8_t)y.v[k];
}

// One component, written to one channel or to three equal ones.
template <int CHANNELS>
__device__ void grey_groups(const hr_jpeg_device_image *image, const uint8_t *planes,
                            uint32_t first, uint32_t row)
{
    plane luma = find_plane(image, planes, 0);
    uint32_t end = min(first + GROUPS, row * lines_of(image));
    for (uint32_t n = first + threadIdx.x; n < end; n += THREADS) {
        group g = find_group<CHANNELS>(image, n, row);
        if (g.from >= g.to)
            continue;
        four y = load_four(luma, g.y, g.x);
        if (CHANNELS == 1) {
            store_grey(g.dst, image->steps.x, y, g.from, g.to);
            continue;
        }
        uint32_t out[3];
        mix(out, y, y, y, true);
        store(g.dst, image->steps.x, out, g.from, g.to);
    }
}

__global__ void __launch_bounds__(THREADS)
    color(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    const uint8_t *planes = b.planes + (size_t)(b.work[i].block - b.work[b.from].block) * 64;
    uint32_t first = (uint32_t)tile * GROUPS, row = groups_in_row(image);
    if (image->channels == 1)
        grey_groups<1>(image, planes, first, row);
    else if (image->planes == 1)
        grey_groups<3>(image, planes, first, row);
    else if (image->h == 1 && image->v == 1)
        color_groups<1, 1>(image, planes, first, row);
    else if (image->h == 2 && image->v == 2)
        color_groups<2, 2>(image, planes, first, row);
    else if (image->h == 2)
        color_groups<2, 1>(image, planes, first, row);
    else if (image->h == 4)
        color_groups<4, 1>(image, planes, first, row);
    else
        color_groups<1, 2>(image, planes, first, row);
}

} // namespace

cudaError_t hr__jpeg_color(const hr_jpeg_batch *b, cudaStream_t stream)
{
    hr_jpeg_launch(color, b, THREADS, stream, [](const hr_jpeg_device_image *image) {
        return HR_DIVIDE_UP(groups_in_row(image) * lines_of(image), GROUPS);
    });
    return cudaGetLastError();
}
