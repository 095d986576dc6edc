// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// FIXED: images of 1 channel.
#include "cuda/image/fixed_kernel.cuh"

#define WORK(store) HR_IMAGE_FIXED(1, store)
const image::Work image::fixed_1[] = {HR_IMAGE_STORES(WORK), {}};
