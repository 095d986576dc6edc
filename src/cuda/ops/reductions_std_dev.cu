// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.std_dev.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_std_dev, "reductions.std_dev", op::reduction_run);
