// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// FIXED: images of 4 channels.
#include "cuda/image/fixed_kernel.cuh"

#define WORK(store) HR_IMAGE_FIXED(4, store)
const image::Work image::fixed_4[] = {HR_IMAGE_STORES(WORK), {}};
