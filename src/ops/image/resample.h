/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Separable filters along any axes of a tensor, on the CPU and on a device: resampling, or given
 * taps. Two axes of images are filtered by an image program, other axes one after the other
 * (depth, height, width) in float. */
#pragma once

#include "image/device.h"
#include "image/program.h"

/* Filters that may be added to the first, each over at most one axis more. */
#define HR_RESAMPLE_MORE 2

/* One axis, on a device. */
typedef struct hr_resample_pass {
    hr_taps taps;
    bool first, last; /* of its filter: reads the input; adds to the result of those before */
    int64_t inner;    /* adjacent elements */
    int64_t count;    /* elements of its output */
} hr_resample_pass;

#define HR_RESAMPLE_PASSES HR_MAX(HR_MAX_NDIM, (HR_RESAMPLE_MORE + 1) * (HR_RESAMPLE_MORE + 1))

/* What a device needs. */
typedef struct hr_resample_device {
    bool images; /* use `program`; otherwise the passes, one after the other */
    hr_device_program program;
    int32_t count;   /* of passes; 0: the output is empty */
    bool sums;       /* several filters are added */
    int64_t between; /* elements of the largest tensor between two passes */
    hr_resample_pass pass[HR_RESAMPLE_PASSES];
} hr_resample_device;

typedef struct hr_resampling {
    int32_t first, axes; /* dimensions `first` .. `first` + `axes` - 1 */
    bool images;         /* they are height and width of images */
    hr_filter_axis axis[HR_MAX_NDIM];
    /* Further filters of the same axes; the results are added. */
    int32_t more_count;
    hr_filter_axis more[HR_RESAMPLE_MORE][HR_RESAMPLE_MORE + 1];
    const hr_resample_device *device; /* NULL on the CPU */
} hr_resampling;

/* The memo that infer of resize leaves for the run. */
typedef struct hr_resize {
    hr_resampling work;      /* first: a memo of resize is also one of tensor_resize */
    int32_t axes, extent[3]; /* of the input: the second output */
} hr_resize;

/* Whether the filter has no effect. */
bool hr__resample_is_identity(const hr_filter_axis *axis, int64_t extent);
/* The rest of infer: filters input 0 to output 0, which is described. */
hr_status hr__resample_infer(const hr_op_call *c, hr_resampling *r, hr_error *error);
hr_status hr__resample_run(hr_op_call *c, const hr_resampling *r, hr_error *error);
