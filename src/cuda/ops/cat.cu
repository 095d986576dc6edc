// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cat.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(cat, "cat", op::parts_run);
