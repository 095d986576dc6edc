// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// _subscript.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(subscript, "_subscript", op::parts_run);
