// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.min.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_min, "reductions.min", op::reduction_run);
