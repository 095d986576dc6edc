// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The launches of a batch of JPEG 2000 files.
#include "cuda/error.cuh"
#include "cuda/jpeg2000/decode.cuh"
#include "cuda/runtime.cuh"

hr_status hr_cuda_jpeg2000_decode(hr_cuda_launch *l, hr_staged images, int32_t count,
                                  hr_error *error)
{
    using namespace jpeg2000;
    const Image *host = (const Image *)images.host, *device = (const Image *)images.device;
    cudaStream_t stream = (cudaStream_t)l->stream;
    for (int32_t i = 0; i < count; i++) // blocks without bytes are 0
        HR_CUDA_TRY(cudaMemsetAsync(host[i].planes, 0, (size_t)host[i].samples * sizeof(int32_t),
                                    stream));
    HR_CUDA_TRY(decode_blocks(host, device, count, stream));
    HR_CUDA_TRY(scale_blocks(host, device, count, stream));
    HR_CUDA_TRY(join_bands(host, device, count, stream));
    HR_CUDA_TRY(write_pixels(host, device, count, stream));
    return HR_STATUS_OK;
}
