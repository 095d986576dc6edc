// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Launches of the kernels that write pixels of videos.
#pragma once

#include <cuda_runtime.h>

#include "cuda/video/picture.cuh"

namespace video
{

cudaError_t put_picture(const Picture &picture, cudaStream_t stream);
cudaError_t fill(uint8_t *dst, size_t pixels, const uint8_t color[3], cudaStream_t stream);

} // namespace video
