// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// sphere.
#include "cuda/ops/displace.cuh"

HR_CUDA_OP(sphere, "sphere", op::displace_run);
