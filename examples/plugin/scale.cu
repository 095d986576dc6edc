// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// example.scale on the GPU: one launch per batch. blockIdx.y is the sample.
#include "scale.h"

namespace
{

constexpr int THREADS = 256;

struct record { // of a sample
    const float *in;
    float *out;
    int64_t count;
    scale_args args;
};

__global__ void scale(const record *records)
{
    const record r = records[blockIdx.y];
    int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < r.count; i += step)
        r.out[i] = scale_of(r.args, r.in[i]);
}

} // namespace

hr_status scale_run_cuda(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                         hr_error *error)
{
    hr_staged records;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    for (int32_t i = 0; i < n; i++) {
        size_t count;
        if (!hr_shape_volume(&calls[i].in[0].shape, &count))
            return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
        ((record *)records.host)[i] = {(const float *)calls[i].in[0].data,
                                       (float *)calls[i].out[0].data, (int64_t)count,
                                       *(const scale_args *)calls[i].args};
    }
    HR_TRY(staging->flush(staging, error));
    scale<<<dim3(64, (unsigned)n), THREADS, 0, (cudaStream_t)l->stream>>>(
        (const record *)records.device);
    cudaError_t code = cudaGetLastError();
    return code == cudaSuccess ? HR_STATUS_OK
                               : hr_fail(error, HR_STATUS_ERROR, "scale: %s",
                                         cudaGetErrorString(code));
}
