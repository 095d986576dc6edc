/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JPEG file made ready for a device: headers parsed, the scan's bytes staged without stuffing.
 * The record is what the kernels of cuda/jpeg read; compiled by nvcc too. */
#ifndef HR_CODECS_JPEG_DEVICE_H
#define HR_CODECS_JPEG_DEVICE_H

#include "core/staging.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plain data; pointers are device addresses. */
typedef struct hr_jpeg_device_image {
    /* set by the launch before the records are copied */
    uint8_t *dst;     /* rows of the window, interleaved channels, u8 */
    uint32_t *status; /* 0; the kernels write 1 when the scan is damaged in what was decoded */
    /* set by hr_jpeg_device_prepare */
    int64_t stride; /* bytes between rows of dst; dst holds stride * window_height bytes */
    int32_t window_y, window_x, window_height, window_width; /* of the stored picture */
    int32_t height, width, channels;                         /* channels of dst: 1 or 3 */
} hr_jpeg_device_image;

#ifdef __cplusplus
}
#endif
#endif
