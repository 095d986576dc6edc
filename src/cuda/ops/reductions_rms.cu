// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// reductions.rms.
#include "cuda/ops/reduce.cuh"

HR_CUDA_OP(reductions_rms, "reductions.rms", op::reduction_run);
