// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// coord_flip: one thread per coordinate.
#include "cuda/ops/floats.cuh"
#include "ops/geometry/points.h"

namespace
{

struct record : op::floats<hr_coord_flip> {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t k = count <= UINT32_MAX ? (uint32_t)i % (uint32_t)m.ndim : i % m.ndim;
        dst[i] = coord_flip_of(&m, (int32_t)k, src[i]);
    }
};

} // namespace

HR_CUDA_OP(coord_flip, "coord_flip", op::run_floats<record>);
