// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// experimental.remap.
#include "cuda/ops/remapped.cuh"

HR_CUDA_OP(experimental_remap, "experimental.remap", op::remapped_run);
