// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/window.cuh"

HR_CUDA_OP(dilate, "experimental.dilate", op::windows_run);
