/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conversion of elements to another type. */
#pragma once

#include "headrace/operator.h"

/* infer: output 0 is input 0 in type `to`. */
hr_status hr__cast_describe(hr_op_call *c, hr_dtype to, hr_error *error);
/* run: converts input 0 to the type of output 0. Also for columns. */
hr_status hr__cast_run(hr_op_call *c, hr_error *error);
