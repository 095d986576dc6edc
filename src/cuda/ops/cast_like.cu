// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cast_like, of tensors that are not pictures.
#include "cuda/ops/cast.cuh"

HR_CUDA_OP(cast_like, "cast_like", op::cast_run);
