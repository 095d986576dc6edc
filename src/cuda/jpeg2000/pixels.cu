// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// From samples to pixels: the inverse component transforms (annex G of T.800), with the arithmetic
// of OpenJPEG, and rounding.
#include "cuda/jpeg2000/decode.cuh"

namespace jpeg2000
{
namespace
{

constexpr uint32_t ACROSS = 64, DOWN = 4, THREADS = ACROSS * DOWN;
constexpr int32_t MIDDLE = 128, TOP = 255;

// Luma and colour differences of the 5/3 wavelet become red, green and blue.
static __device__ void unmix(int32_t v[])
{
    uint32_t y = (uint32_t)v[0], u = (uint32_t)v[1], w = (uint32_t)v[2];
    uint32_t green = y - (uint32_t)((int32_t)(u + w) >> 2);
    v[0] = (int32_t)(w + green);
    v[1] = (int32_t)green;
    v[2] = (int32_t)(u + green);
}

static __device__ void unmix(float v[])
{
    float y = v[0], u = v[1], w = v[2];
    v[0] = y + w * 1.402f;
    v[1] = y - u * 0.34413f - w * 0.71414f;
    v[2] = y + u * 1.772f;
}

static __device__ uint8_t level(int32_t v)
{
    v = (int32_t)((uint32_t)v + MIDDLE);
    return (uint8_t)max(0, min(TOP, v));
}

static __device__ uint8_t level(float v)
{
    // all that is beyond this is clamped; NaN is not more than the least, either
    v = v > -1e6f ? min(v, 1e6f) : -1e6f;
    return level(__float2int_rn(v));
}

template <typename T>
static __device__ void write_pixel(const Image &image, const T *plane, uint32_t x, uint32_t y)
{
    uint32_t gx = image.x0 + x, gy = image.y0 + y; // on the reference grid
    uint32_t tile_x = (gx - image.tile_x0) / image.tile_w;
    uint32_t tile_y = (gy - image.tile_y0) / image.tile_h;
    const Part *parts = image.parts + (size_t)(tile_y * image.across + tile_x) * image.components;
    T v[HR_JPEG2000_DEVICE_CHANNELS] = {};
    for (uint32_t k = 0; k < image.components; k++) {
        Part p = parts[k];
        v[k] = plane[p.at + (size_t)(gy - p.y0) * (p.x1 - p.x0) + (gx - p.x0)];
    }
    if (image.mixed)
        unmix(v);
    uint8_t *dst = image.dst + image.steps.first + y * image.steps.y + x * image.steps.x;
    for (uint32_t k = 0; k < image.channels; k++)
        dst[k] = level(v[image.channel[k]]);
}

__global__ void __launch_bounds__(THREADS) write(const Image *images, const tiles::Share share, Memory memory)
{
    int tile, i = tiles::find(share, &tile);
    const Image &image = images[i];
    uint32_t t = (uint32_t)tile, tiles_x = divide_up(image.width, ACROSS);
    uint32_t x = t % tiles_x * ACROSS + threadIdx.x % ACROSS;
    uint32_t y = t / tiles_x * DOWN + threadIdx.x / ACROSS;
    if (x >= image.width || y >= image.height)
        return;
    if (image.reversible)
        write_pixel(image, memory.plane<int32_t>(&image), x, y);
    else
        write_pixel(image, memory.plane<float>(&image), x, y);
}

} // namespace

cudaError_t write_pixels(const Batch &b)
{
    return tiles::launch(
        write, b.host, b.device, b.count, THREADS, b.stream,
        [](const Image *image) {
            return divide_up(image->width, ACROSS) * divide_up(image->height, DOWN);
        },
        b.memory);
}

} // namespace jpeg2000
