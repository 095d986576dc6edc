// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// bbox_paste: one thread per number.
#include "cuda/ops/floats.cuh"
#include "ops/boxes/boxes.h"

namespace
{

struct record : op::floats<hr_bbox_paste> {
    HR_DEVICE void element(int64_t i) const
    {
        dst[i] = bbox_paste_of(&m, src[i], i);
    }
};

} // namespace

HR_CUDA_OP(bbox_paste, "bbox_paste", op::run_floats<record>);
