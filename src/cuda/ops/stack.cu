// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// stack.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(stack, "stack", op::parts_run);
