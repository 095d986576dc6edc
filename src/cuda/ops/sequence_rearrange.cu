// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// sequence_rearrange.
#include "cuda/ops/region.cuh"

HR_CUDA_OP(sequence_rearrange, "sequence_rearrange", op::parts_run);
