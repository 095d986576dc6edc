// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Pixels of the window from planes of samples: chroma upsampled as in kernels/jpeg_rows.c, colours.
#include "cuda/jpeg/decode.cuh"

namespace
{

constexpr int THREADS = HR_JPEG_COLOR_THREADS, PIXELS = HR_JPEG_COLOR_PIXELS;

// 16 bits of fraction.
constexpr int R_CR = 91881, B_CB = 116130, G_CB = 22554, G_CR = 46802, HALF = 1 << 15;

// One component: samples of the window's MCUs.
struct plane {
    const uint8_t *samples; // of the picture's first sample, which need not be there
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
    p.samples = planes + (size_t)before * 64 -
                (int64_t)image->top * 8 * (image->v / v) * p.stride -
                (int64_t)image->left * 8 * (image->h / h);
    p.width = (image->width + h - 1) / h;
    p.height = (image->height + v - 1) / v;
    return p;
}

// A chroma sample for a pixel.
__device__ __forceinline__ int upsample(const plane &p, int h, int v, int y, int x)
{
    if (h == 1 && v == 1)
        return p.at(y, x);
    if (h == 4)
        return p.at(y, x >> 2);
    int far = y & 1 ? min((y >> 1) + 1, p.height - 1) : max((y >> 1) - 1, 0);
    if (h == 1)
        return (3 * p.at(y >> 1, x) + p.at(far, x) + (y & 1 ? 2 : 1)) >> 2;
    int near = x >> 1, beside = x & 1 ? min(near + 1, p.width - 1) : max(near - 1, 0);
    if (v == 1)
        return (3 * p.at(y, near) + p.at(y, beside) + (x & 1 ? 2 : 1)) >> 2;
    y >>= 1;
    return (3 * (3 * p.at(y, near) + p.at(far, near)) + 3 * p.at(y, beside) + p.at(far, beside) +
            (x & 1 ? 7 : 8)) >>
           4;
}

__device__ __forceinline__ uint8_t clamp(int v)
{
    return (uint8_t)max(min(v, 255), 0);
}

__device__ __forceinline__ void store(uint8_t *dst, int y, int cb, int cr, bool rgb)
{
    if (rgb) {
        dst[0] = (uint8_t)y;
        dst[1] = (uint8_t)cb;
        dst[2] = (uint8_t)cr;
        return;
    }
    cb -= 128;
    cr -= 128;
    dst[0] = clamp(y + ((R_CR * cr + HALF) >> 16));
    dst[1] = clamp(y + ((HALF - G_CB * cb - G_CR * cr) >> 16));
    dst[2] = clamp(y + ((B_CB * cb + HALF) >> 16));
}

__global__ void __launch_bounds__(THREADS) color(hr_jpeg_batch b)
{
    uint32_t at = blockIdx.x + b.work[b.from].color;
    uint32_t i = hr_jpeg_find<&hr_jpeg_work::color>(b.work, b.from, b.to, at);
    const hr_jpeg_device_image *image = &b.images[i];
    uint32_t n = (at - b.work[i].color) * THREADS + threadIdx.x;
    uint32_t row = hr_jpeg_divide_up((uint32_t)image->window_width, PIXELS), line = n / row;
    if (line >= (uint32_t)image->window_height)
        return;
    const uint8_t *planes = b.planes + (size_t)(b.work[i].block - b.work[b.from].block) * 64;
    int from = (int)(n - line * row) * PIXELS, to = min(from + PIXELS, image->window_width);
    int y = image->window_y + (int)line, channels = image->channels;
    plane luma = find_plane(image, planes, 0);
    uint8_t *dst = image->dst + (int64_t)line * image->stride + (int64_t)from * channels;
    if (image->planes == 1) {
        for (int x = from; x < to; x++)
            for (int k = 0; k < channels; k++)
                *dst++ = (uint8_t)luma.at(y, image->window_x + x);
        return;
    }
    plane cb = find_plane(image, planes, 1), cr = find_plane(image, planes, 2);
    int h = image->h, v = image->v;
    bool rgb = image->rgb != 0;
    for (int x = image->window_x + from; x < image->window_x + to; x++, dst += 3)
        store(dst, luma.at(y, x), upsample(cb, h, v, y, x), upsample(cr, h, v, y, x), rgb);
}

} // namespace

cudaError_t hr__jpeg_color(const hr_jpeg_batch *b, uint32_t blocks, cudaStream_t stream)
{
    HR_CUDA_LAUNCH(color, blocks, THREADS, stream, *b);
    return cudaGetLastError();
}
