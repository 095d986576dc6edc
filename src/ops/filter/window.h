/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators that choose an element of a rectangular window around each pixel. They only compare
 * elements, and do that with unsigned integers in the same order. Shared by the CPU and the GPU. */
#pragma once

#include "ops/filter/axes.h"
#include "core/shared.h"
#include "kernels/border.h"

/* How far a window reaches from its pixel. */
typedef struct hr_reach {
    int64_t up, down, left, right;
} hr_reach;

typedef enum hr_window_kind {
    HR_WINDOW_KIND_MAX,
    HR_WINDOW_KIND_MIN,
    HR_WINDOW_KIND_MEDIAN
} hr_window_kind;

/* What infer finds out. Images follow one another: outer x height x width x channels. */
typedef struct hr_windows {
    hr_window_kind kind;
    hr_border border;        /* CONSTANT: pixels outside do not count */
    size_t outer, per_frame; /* images of the sample, and of one frame */
    int64_t height, width, channels;
    const hr_reach *reach; /* per frame, or one for all */
    int32_t reach_count;
} hr_windows;

/* Describes the output and makes the memo, except for `reach`, of which there are `count`. */
hr_status hr__windows_infer(hr_op_call *c, hr_window_kind kind, hr_border border, int32_t count,
                            hr_windows **out, hr_reach **reach, hr_data_axes *axes,
                            hr_error *error);
/* `run` of these operators. */
hr_status hr__windows_run(hr_op_call *c, hr_error *error);

#define HR_WINDOW_LAYOUTS "HW|HWC|FHWC|CHW|FCHW"
#define HR_WINDOW_TYPES "The input is UINT8, UINT16, INT32 or FLOAT."

/* What the tables of these operators have in common. */
#define HR_WINDOW_FIELDS                                                                           \
    .devices = "gpu", .flags = HR_OP_SEQUENCE,                                                     \
    .in = HR_INPUTS({.name = "input", .layouts = HR_WINDOW_LAYOUTS}), .run = hr__windows_run

/* An element of 32 bits as an integer in the same order; NaNs are at the ends. */
HR_SHARED uint32_t window_key(uint32_t bits, int32_t dtype)
{
    bool all = dtype == HR_DTYPE_FLOAT && bits >> 31 != 0;
    return bits ^ (all ? 0xffffffff : 0x80000000);
}

HR_SHARED uint32_t window_element(uint32_t key, int32_t dtype)
{
    bool all = dtype == HR_DTYPE_FLOAT && key >> 31 == 0;
    return key ^ (all ? 0xffffffff : 0x80000000);
}
