// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// experimental.warp_perspective.
#include "cuda/ops/remapped.cuh"

HR_CUDA_OP(experimental_warp_perspective, "experimental.warp_perspective", op::remapped_run);
