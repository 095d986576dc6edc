// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// slice, of tensors that are not pictures.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(slice, "slice", op::parts_run);
