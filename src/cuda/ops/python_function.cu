// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// python_function: copies what the function returned.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(python_function, "python_function", op::parts_run);
