/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The planes of a decoded picture become interleaved pixels. */
#pragma once

#include "codecs/video/module.h"
#include "core/core.h"
#include "kernels/kernels.h"

/* Scratch memory that is kept between pictures; all zeros at first. */
typedef struct hr_video_scratch {
    void *memory;
    size_t size;
} hr_video_scratch;

void hr_video_scratch_fini(hr_video_scratch *scratch);

/* Writes height x width x 3 bytes. */
hr_status hr_video_pixels(const hr_kernels *kernels, const hr_video_picture *picture,
                          const hr_video_form *form, uint8_t *dst, hr_video_scratch *scratch,
                          hr_error *error);
