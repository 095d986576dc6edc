/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Checks and evaluates conditions. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* Describes the output of `not`, `and`, `or` and of a condition of `if`: a BOOL scalar. */
hr_status hr_condition_infer(hr_op_call *c, hr_error *error);
/* The truth value of a scalar: whether it is not 0 (NaN is true). `side` names the operand ("left")
 * or is empty. With `strict`, only BOOL is accepted. */
hr_status hr_condition_get(const hr_tensor *t, const char *expression, const char *side,
                           bool strict, bool *out, hr_error *error);
