// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// fast_resize_crop_mirror, where it is not a step of an image program.
#include "cuda/ops/resample.cuh"

HR_CUDA_OP(fast_resize_crop_mirror, "fast_resize_crop_mirror", op::resample_run);
