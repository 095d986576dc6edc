// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// PICK: normalised bytes.
#include "cuda/image/pick_kernel.cuh"

const image::Work image::pick_scaled[] = {
    HR_IMAGE_PICK(HR_DEVICE_STORE_F16), HR_IMAGE_PICK(HR_DEVICE_STORE_F32), {}};
