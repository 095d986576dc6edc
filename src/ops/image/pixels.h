/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The limit on the size of images. It applies to decoders and to the outputs of operators. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* HR_STATUS_LIMIT if an image (depth 1) or volume has more pixels than the pipeline allows. */
hr_status hr__pixels_check(const hr_op_call *c, int64_t depth, int64_t height, int64_t width,
                           hr_error *error);
