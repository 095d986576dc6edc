// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.sum.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_sum, "reductions.sum", op::reduction_run);
