// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// gaussian_blur, where it is not a step of an image program.
#include "cuda/ops/separable.cuh"

HR_CUDA_OP(gaussian_blur, "gaussian_blur", op::separable_run);
