// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// dl_tensor_python_function: copies what the function returned.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(dl_tensor_python_function, "dl_tensor_python_function", op::parts_run);
