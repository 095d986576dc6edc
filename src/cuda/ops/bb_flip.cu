// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// bb_flip: one thread per box.
#include "cuda/ops/floats.cuh"
#include "ops/boxes/boxes.h"

namespace
{

struct record : op::floats<hr_bb_flip, 4> {
    HR_DEVICE void element(int64_t i) const
    {
        bb_flip_of(&m, src + 4 * i, dst + 4 * i);
    }
};

} // namespace

HR_CUDA_OP(bb_flip, "bb_flip", op::run_floats<record>);
