// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// water.
#include "cuda/ops/displace.cuh"

HR_CUDA_OP(water, "water", op::displace_run);
