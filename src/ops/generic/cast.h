/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elements of another type. */
#ifndef HR_OPS_GENERIC_CAST_H
#define HR_OPS_GENERIC_CAST_H

#include "headrace/operator.h"

/* run_cpu: input 0 as output 0's type; columns too. */
hr_status hr__cast_run(hr_op_call *calls, int32_t n, hr_error *error);

#endif
