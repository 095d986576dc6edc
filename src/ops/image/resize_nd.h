/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Resampling of volumes: axes one after the other (depth, height, width), all in float. */
#ifndef HR_OPS_IMAGE_RESIZE_ND_H
#define HR_OPS_IMAGE_RESIZE_ND_H

#include "image/program.h"

/* The `axes` dimensions of `in` from dimension `first` on are resampled into `out`, which is
 * described. */
hr_status hr__resize_nd(hr_op_call *c, const hr_tensor *in, hr_tensor *out, int32_t first,
                        int32_t axes, const hr_resample_axis *axis, hr_error *error);

#endif
