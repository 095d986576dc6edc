// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Threads that make four neighbours in a row of an image. A warp makes 32 x 4 pixels, which are
// close to each other in the source, too.
#pragma once

#include "cuda/image/rgb.cuh"
#include "cuda/ops/op.cuh"

namespace op
{

struct four {
    int64_t image;
    int32_t x, y;
    int32_t pixels; // of the four that are in the image; none: less than 1
};

// Threads for some images.
static inline int64_t fours(int64_t images, int64_t width, int64_t height)
{
    return images * HR_DIVIDE_UP(width, 32) * HR_DIVIDE_UP(height, 4) * 32;
}

HR_DEVICE static inline four four_at(int64_t thread, int64_t width, int64_t height)
{
    const int32_t lane = (int32_t)(thread & 31);
    int64_t image = thread >> 5;
    const int64_t column = digit(&image, HR_DIVIDE_UP(width, 32));
    const int64_t row = digit(&image, HR_DIVIDE_UP(height, 4));
    const int32_t x = (int32_t)(column * 32) + lane % 8 * 4, y = (int32_t)row * 4 + lane / 8;
    const int32_t left = y < height ? (int32_t)width - x : 0;
    return {image, x, y, HR_MIN(left, 4)};
}

} // namespace op
