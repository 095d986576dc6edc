// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.variance.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_variance, "reductions.variance", op::reduction_run);
