/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* dilate: the maximum in a window around each pixel. */
#include "ops/filter/morphology.h"

static hr_status dilate_infer(hr_op_call *c, hr_error *error)
{
    return hr__morphology_infer(c, HR_WINDOW_KIND_MAX, error);
}

const hr_op_def hr_op_dilate = {
    HR_OP("experimental.dilate"),
    .doc = "Makes each pixel the maximum of a rectangular window around it, per "
           "channel. " HR_WINDOW_TYPES,
    .infer = dilate_infer,
    HR_MORPHOLOGY_FIELDS,
};
