/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* jpeg_compression_distortion: shared by the CPU and the GPU. */
#pragma once

#include "headrace/operator.h"

typedef struct hr_jpeg_distortion_args {
    int32_t quality;
} hr_jpeg_distortion_args;
