/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Resampling of any axes of a tensor, on the CPU and on a device. Two axes of pictures are
 * resampled by an image program, other axes one after the other (depth, height, width) in float. */
#ifndef HR_OPS_IMAGE_RESAMPLE_H
#define HR_OPS_IMAGE_RESAMPLE_H

#include "image/device.h"
#include "image/program.h"

/* One axis, on a device. */
typedef struct hr_resample_pass {
    hr_taps taps;
    int64_t inner; /* adjacent elements */
    int64_t count; /* elements of its output */
} hr_resample_pass;

/* What a device needs. */
typedef struct hr_resample_device {
    bool pictures; /* use `program`; otherwise the passes, one after the other */
    hr_device_program program;
    int32_t count;   /* of passes; 0: the output is empty */
    int64_t between; /* elements of the largest tensor between two passes */
    hr_resample_pass pass[HR_MAX_NDIM];
} hr_resample_device;

typedef struct hr_resampling {
    int32_t first, axes; /* dimensions `first` .. `first` + `axes` - 1 */
    bool pictures;       /* they are height and width of pictures */
    hr_resample_axis axis[HR_MAX_NDIM];
    const hr_resample_device *device; /* NULL on the CPU */
} hr_resampling;

/* The memo that infer of resize leaves for the run. */
typedef struct hr_resize {
    hr_resampling work;      /* first: a memo of resize is also one of tensor_resize */
    int32_t axes, extent[3]; /* of the input: the second output */
} hr_resize;

/* Whether resampling the axis has no effect. */
bool hr__resample_is_identity(const hr_resample_axis *axis, int64_t extent);
/* The rest of infer: resamples input 0 to output 0, which is described. */
hr_status hr__resample_infer(const hr_op_call *c, hr_resampling *r, hr_error *error);
hr_status hr__resample_run(hr_op_call *c, const hr_resampling *r, hr_error *error);

#endif
