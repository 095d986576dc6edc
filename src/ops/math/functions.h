/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions, made from those of core/mathx.h, so they have the same bits on every
 * machine. In double precision the relative error is about 1e-14; results of type FLOAT are
 * correctly rounded except for rare ties. */
#pragma once

#include "ops/math/elementwise.h"

typedef double (*hr_math_function)(double);

/* The function of an operator with one operand, for results of type FLOAT or FLOAT64; NULL if the
 * operator is not a function. */
hr_math_function hr__math_function(hr_math_op op, bool is_float);
