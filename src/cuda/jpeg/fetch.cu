// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Copies what is needed of each file from pinned memory to the device. The copy engines do that
// while kernels run; a kernel that fetched would occupy the device while it waits for PCIe.
#include "cuda/jpeg/decode.cuh"

namespace
{

// Copies that are given to the driver in one call. They begin when all of them are queued, so more
// of them would begin later.
struct copies {
    static constexpr size_t MOST = 32;
    void *to[MOST];
    void *from[MOST];
    size_t size[MOST];
    size_t count;
};

// Needs CUDA 12.8 and a driver of that version.
cudaError_t start_together(copies *c, cudaStream_t stream)
{
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12080
    cudaMemcpyAttributes how = {};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    how.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    size_t first = 0;
#if CUDART_VERSION >= 13000
    return cudaMemcpyBatchAsync(c->to, c->from, c->size, c->count, &how, &first, 1, stream);
#else
    size_t failed;
    return cudaMemcpyBatchAsync(c->to, c->from, c->size, c->count, &how, &first, 1, &failed,
                                stream);
#endif
#else
    (void)c;
    (void)stream;
    return cudaErrorCallRequiresNewerDriver;
#endif
}

cudaError_t start(copies *c, cudaStream_t stream)
{
    cudaError_t code = start_together(c, stream);
    if (code != cudaErrorCallRequiresNewerDriver && code != cudaErrorNotSupported)
        return code;
    (void)cudaGetLastError();
    code = cudaSuccess;
    for (size_t i = 0; i < c->count && code == cudaSuccess; i++)
        code = cudaMemcpyAsync(c->to[i], c->from[i], c->size[i], cudaMemcpyHostToDevice, stream);
    return code;
}

} // namespace

cudaError_t hr__jpeg_fetch(const hr_jpeg_batch *b, cudaStream_t stream)
{
    copies c;
    c.count = 0;
    uint4 *to = b->fetched;
    for (uint32_t i = 0; i < b->count; i++) {
        const hr_jpeg_device_image *image = &b->host[i];
        if (image->raw_size > 0) {
            c.to[c.count] = hr_jpeg_copy_of(image, to);
            c.from[c.count] = (void *)image->raw;
            c.size[c.count++] = image->raw_size;
            to += hr_jpeg_work_of(image).piece;
        }
        if (c.count == copies::MOST || (c.count > 0 && i + 1 == b->count)) {
            cudaError_t code = start(&c, stream);
            if (code != cudaSuccess)
                return code;
            c.count = 0;
        }
    }
    return cudaSuccess;
}
