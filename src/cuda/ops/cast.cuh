// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Elements of another type, one thread per element.
#pragma once

#include "cuda/ops/op.cuh"

namespace op
{

struct cast_record {
    const void *src;
    void *dst;
    int64_t count;
    int32_t from, to;

    HR_DEVICE void element(int64_t i) const;
};

hr_status cast_launch(hr_cuda_launch *l, hr_staged records, int32_t n, hr_error *error);

} // namespace op
