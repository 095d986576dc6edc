// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Operators of the fake module: the code of cuda/ops, with kernels that run on the stream's thread.
#include "cuda/ops/op.cuh"
#include "cuda/runtime.cuh"

extern "C" {
#include "gpu/fake_module.h"
}

static void run_kernel(fake_work *w)
{
    auto *kernel = (std::function<void()> *)w->to;
    (*kernel)();
    delete kernel;
}

hr_status hr_cuda_queue(hr_cuda_launch *l, std::function<void()> kernel, hr_error *error)
{
    HR_TRY(fake_current(l, "op_run", error));
    HR_TRY(fake_call("op_run", error));
    fake_work work = {};
    work.run = run_kernel;
    work.to = new std::function<void()>(std::move(kernel));
    hr_status status = fake_queue(l->stream, &work, error);
    if (status != HR_STATUS_OK)
        delete (std::function<void()> *)work.to;
    return status;
}

hr_status hr_cuda_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error)
{
    return fake_copy_all(l, copies, count, error);
}

hr_status hr_cuda_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error)
{
    return fake_program_run(l, programs, count, error);
}
