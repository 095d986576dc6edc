// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// laplacian, where it is not a step of an image program.
#include "cuda/ops/separable.cuh"

HR_CUDA_OP(laplacian, "laplacian", op::separable_run);
