/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* An image program made ready for a device: flat, with its filter taps staged. The record is what
 * the kernels of cuda/image read; compiled by nvcc too. */
#ifndef HR_IMAGE_DEVICE_H
#define HR_IMAGE_DEVICE_H

#include "core/staging.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plain data; pointers are device addresses. */
typedef struct hr_device_program {
    /* set by the launch before the records are copied */
    const void *src; /* of a coded picture: the window that hr_device_program_window asks for, rows
                        without padding */
    void *dst;
    /* set by hr_device_program_make */
} hr_device_program;

#ifdef __cplusplus
}
#endif
#endif
