/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* python_function: calls a function of the program that made the graph. */
#include "ops/function/call.h"

static const hr_arg_def python_function_arg_defs[] = {
    FUNCTION_ARG_DEFS,
    HR_ARG_ACCEPT(batch_processing, BOOL, "False",
                  "The function takes and returns lists with one array per sample; otherwise it is "
                  "called with the arrays of one sample at a time."),
    HR_ARG_END};

const hr_op_def hr_op_python_function = {
    FUNCTION_TABLE(python_function, "Calls a Python function with NumPy arrays, or on a GPU "
                                    "with arrays of CuPy. It is called for one batch after the "
                                    "other, in order."),
};
