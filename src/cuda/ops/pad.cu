// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// pad.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(pad, "pad", op::parts_run);
