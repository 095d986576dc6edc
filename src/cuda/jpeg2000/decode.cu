// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The launches of a batch of JPEG 2000 files and their memory. Large batches are decoded in parts,
// one after the other in the same memory.
#include "cuda/error.cuh"
#include "cuda/jpeg2000/decode.cuh"
#include "cuda/runtime.cuh"

namespace jpeg2000
{
namespace
{

constexpr size_t MEMORY_MOST = (size_t)1 << 30; // of a part; a single image may need more

// Images from `from` on that are decoded together.
int part_end(const Image *images, int from, int count, size_t *slot)
{
    int to = from;
    for (*slot = 0; to < count; to++) {
        size_t larger = max(*slot, hr_jpeg2000_device_memory(&images[to]));
        larger = (larger + 255) / 256 * 256;
        if (to > from && larger * (size_t)(to + 1 - from) > MEMORY_MOST)
            break;
        *slot = larger;
    }
    return to;
}

hr_status decode_part(const Batch &b, hr_error *error)
{
    for (int i = 0; i < b.count; i++) // blocks without bytes are 0
        HR_CUDA_TRY(cudaMemsetAsync(b.memory.base + (size_t)i * b.memory.slot, 0,
                                    hr_jpeg2000_device_plane(&b.host[i]), b.stream));
    HR_CUDA_TRY(decode_blocks(b));
    HR_CUDA_TRY(scale_blocks(b));
    HR_CUDA_TRY(join_bands(b));
    HR_CUDA_TRY(write_pixels(b));
    return HR_STATUS_OK;
}

} // namespace
} // namespace jpeg2000

hr_status hr_cuda_jpeg2000_decode(hr_cuda_launch *l, hr_staged images, int32_t count,
                                  hr_error *error)
{
    using namespace jpeg2000;
    const Image *host = (const Image *)images.host, *device = (const Image *)images.device;
    hr_status status = HR_STATUS_OK;
    size_t slot, most = 0;
    void *memory;
    for (int from = 0, to; from < count; from = to) {
        to = part_end(host, from, count, &slot);
        most = max(most, slot * (size_t)(to - from));
    }
    if ((status = l->scratch(l, max(most, (size_t)1), &memory, error)) != HR_STATUS_OK)
        return status;
    for (int from = 0, to; from < count && status == HR_STATUS_OK; from = to) {
        to = part_end(host, from, count, &slot);
        Batch b = {host + from, device + from, to - from, (cudaStream_t)l->stream,
                   {device + from, (char *)memory, slot}};
        status = decode_part(b, error);
    }
    return status;
}
