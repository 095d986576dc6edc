/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The size rules of `resize`: they turn the requested sizes into a source range and an output
 * length per axis. */
#pragma once

#include "image/program.h"

#define HR_RESIZE_MAX_AXES HR_MAX_NDIM

typedef enum hr_resize_mode {
    HR_RESIZE_MODE_DEFAULT,    /* axes without a size keep the aspect ratio */
    HR_RESIZE_MODE_STRETCH,    /* axes without a size keep their extent */
    HR_RESIZE_MODE_NOT_LARGER, /* all axes have the smallest scale */
    HR_RESIZE_MODE_NOT_SMALLER /* all axes have the greatest scale */
} hr_resize_mode;

typedef enum hr_resize_rounding {
    HR_RESIZE_ROUNDING_NEAREST, /* halves up */
    HR_RESIZE_ROUNDING_DOWN,
    HR_RESIZE_ROUNDING_UP
} hr_resize_rounding;

/* All axes in layout order: (depth,) height, width. */
typedef struct hr_resize_request {
    int32_t axes;
    hr_resize_mode mode;
    float size[HR_RESIZE_MAX_AXES];                       /* 0: not given; negative: mirrored */
    float max_size[HR_RESIZE_MAX_AXES];                   /* 0: no limit */
    float lo[HR_RESIZE_MAX_AXES], hi[HR_RESIZE_MAX_AXES]; /* the region; hi < lo mirrors */
    hr_resize_rounding rounding;
    float off_centre[HR_RESIZE_MAX_AXES]; /* of the fixed point of subpixel, in region extents */
    bool subpixel; /* move the ends of the region so that rounding does not change the scale */
} hr_resize_request;

/* Fills lo, hi and out of `axis[0 .. axes - 1]`. */
hr_status hr__resize_solve(const hr_resize_request *request, hr_resample_axis *axis,
                           hr_error *error);
