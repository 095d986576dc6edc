// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// PICK: bytes as they are.
#include "cuda/image/pick_kernel.cuh"

const image::Work image::pick_u8[] = {HR_IMAGE_PICK(HR_DEVICE_STORE_U8), {}};
