// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.mean.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_mean, "reductions.mean", op::reduction_run);
