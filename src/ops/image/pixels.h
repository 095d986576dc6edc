/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* How large a picture may become: the limit that decoders have holds for what operators make of
 * pictures too. */
#ifndef HR_OPS_IMAGE_PIXELS_H
#define HR_OPS_IMAGE_PIXELS_H

#include "core/core.h"
#include "headrace/operator.h"

/* HR_STATUS_LIMIT when a picture (depth 1) or volume has more pixels than the pipeline allows. */
hr_status hr__pixels_check(const hr_op_call *c, int64_t depth, int64_t height, int64_t width,
                           hr_error *error);

#endif
