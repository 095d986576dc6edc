// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// PICK: bytes through steps.
#include "cuda/image/pick_kernel.cuh"

const image::Work image::pick_points[] = {
    HR_IMAGE_PICK(HR_DEVICE_STORE_POINTS), HR_IMAGE_PICK(HR_DEVICE_STORE_COLOR), {}};
