// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cast_like, of what is no picture.
#include "cuda/ops/cast.cuh"

HR_CUDA_OP(cast_like, "cast_like", op::cast_run);
