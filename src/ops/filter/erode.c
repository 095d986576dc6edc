/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* erode: the minimum in a window around each pixel. */
#include "ops/filter/morphology.h"

static hr_status erode_infer(hr_op_call *c, hr_error *error)
{
    return hr__morphology_infer(c, HR_WINDOW_KIND_MIN, error);
}

const hr_op_def hr_op_erode = {
    HR_OP("experimental.erode"),
    .doc = "Makes each pixel the minimum of a rectangular window around it, per "
           "channel. " HR_WINDOW_TYPES,
    .infer = erode_infer,
    HR_MORPHOLOGY_FIELDS,
};
