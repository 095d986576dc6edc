// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.max.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_max, "reductions.max", op::reduction_run);
