// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// jitter.
#include "cuda/ops/displace.cuh"

HR_CUDA_OP(jitter, "jitter", op::displace_run);
