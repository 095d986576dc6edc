// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// FIXED: images of 3 channels.
#include "cuda/image/fixed_kernel.cuh"

#define WORK(store) HR_IMAGE_FIXED(3, store)
const image::Work image::fixed_3[] = {HR_IMAGE_STORES(WORK), WORK(HR_DEVICE_STORE_COLOR), {}};
