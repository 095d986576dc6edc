// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cast, of tensors that are not pictures.
#include "cuda/ops/cast.cuh"

HR_CUDA_OP(cast, "cast", op::cast_run);
