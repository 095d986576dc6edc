/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators of this library. */
#include "headrace/plugin.h"

extern const hr_op_def hr_op_above, hr_op_invert, hr_op_lines, hr_op_records, hr_op_scale;
HR_PLUGIN("headrace_example", &hr_op_above, &hr_op_invert, &hr_op_lines, &hr_op_records,
          &hr_op_scale)
