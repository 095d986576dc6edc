/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What may be a condition, and whether it holds. */
#ifndef HR_OPS_CONDITIONAL_CONDITION_H
#define HR_OPS_CONDITIONAL_CONDITION_H

#include "core/core.h"
#include "headrace/operator.h"

/* The outputs of `not`, `and`, `or` and of a condition of `if`: BOOL scalars. */
hr_status hr_condition_infer(hr_op_call *c, hr_error *error);
/* The truth of a scalar: not 0, which a NaN is not either. `side` names the operand ("left"), or is
 * empty. With `strict` only BOOL is taken. */
hr_status hr_condition_get(const hr_tensor *t, const char *expression, const char *side,
                           bool strict, bool *out, hr_error *error);

#endif
