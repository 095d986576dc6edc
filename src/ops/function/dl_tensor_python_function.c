/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* dl_tensor_python_function: as python_function, for functions that take and give DLPack capsules.
 */
#include "ops/function/call.h"

static const hr_arg_def dl_tensor_python_function_arg_defs[] = {
    FUNCTION_ARG_DEFS,
    HR_ARG_ACCEPT(batch_processing, BOOL, "True",
                  "The function takes and gives lists with a capsule a sample; otherwise capsules "
                  "of one sample."),
    HR_ARG_ACCEPT(synchronize_stream, BOOL, "True", "Of functions on the GPU. No effect."),
    HR_ARG_END};

const hr_op_def hr_op_dl_tensor_python_function = {
    FUNCTION_TABLE(
        dl_tensor_python_function,
        "Calls a Python function with DLPack capsules. Batches go through it one after the "
        "other, in their order."),
};
