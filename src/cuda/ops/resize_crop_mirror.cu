// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// resize_crop_mirror, where it is not a step of an image program.
#include "cuda/ops/resample.cuh"

HR_CUDA_OP(resize_crop_mirror, "resize_crop_mirror", op::resample_run);
