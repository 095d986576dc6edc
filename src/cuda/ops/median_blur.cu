// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/window.cuh"

HR_CUDA_OP(median_blur, "experimental.median_blur", op::windows_run);
