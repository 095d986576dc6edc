/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions on numbers, beyond those of core/mathx.h and made from them, so with the
 * same bits on every machine. In double precision within about 1e-14 of the value; what floats need
 * comes out of that exactly rounded but for rare ties. */
#ifndef HR_OPS_MATH_FUNCTIONS_H
#define HR_OPS_MATH_FUNCTIONS_H

#include "ops/math/elementwise.h"

typedef double (*hr_math_function)(double);

/* The function of an operator with one operand, for results of type FLOAT or FLOAT64; NULL for
 * operators that are none. */
hr_math_function hr__math_function(hr_math_op op, bool is_float);

#endif
