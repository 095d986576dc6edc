/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* dl_tensor_python_function: like python_function, for functions on DLPack capsules. */
#include "ops/function/call.h"

static const hr_arg_def dl_tensor_python_function_arg_defs[] = {
    FUNCTION_ARG_DEFS,
    HR_ARG_ACCEPT(batch_processing, BOOL, "True",
                  "The function takes and returns lists with one capsule per sample; otherwise it "
                  "is called with the capsules of one sample at a time."),
    HR_ARG_ACCEPT(synchronize_stream, BOOL, "True",
                  "On a GPU: wait for the stream of the pipeline before the function is called. "
                  "Otherwise the function has to work on this stream: "
                  "`ops.PythonFunction.current_stream()`."),
    HR_ARG_END};

const hr_op_def hr_op_dl_tensor_python_function = {
    FUNCTION_TABLE(dl_tensor_python_function, "Calls a Python function with DLPack capsules. It is "
                                              "called for one batch after the other, in order. On "
                                              "a GPU, what it returns must be complete, or work "
                                              "that is queued on the default stream or the "
                                              "pipeline's stream."),
};
