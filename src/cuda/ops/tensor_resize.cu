// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// tensor_resize.
#include "cuda/ops/resample.cuh"

HR_CUDA_OP(tensor_resize, "tensor_resize", op::resample_run);
