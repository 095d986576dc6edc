// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// crop, of windows that repeat the picture outside of it.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(crop, "crop", op::parts_run);
