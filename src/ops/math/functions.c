/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Looks up the function of an operator. */
#include "ops/math/functions.h"
#include "ops/math/functions_inline.h"

#define ENTRY(op, function) [op] = (function),

hr_math_function hr__math_function(hr_math_op op, bool is_float)
{
    static const hr_math_function functions[HR_MATH_OP_COUNT] = {HR_MATH_FUNCTIONS(ENTRY)};
    static const hr_math_function of_float[HR_MATH_OP_COUNT] = {HR_MATH_FUNCTIONS_SHORT(ENTRY)};

    return is_float && of_float[op] ? of_float[op] : functions[op];
}
