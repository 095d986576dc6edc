// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// transpose.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(transpose, "transpose", op::parts_run);
