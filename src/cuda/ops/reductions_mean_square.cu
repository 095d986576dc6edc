// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.mean_square.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_mean_square, "reductions.mean_square", op::reduction_run);
