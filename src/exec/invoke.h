/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs one operator without a graph, for immediate use, the conformance harness and tests of
 * plug-ins. */
#ifndef HR_EXEC_INVOKE_H
#define HR_EXEC_INVOKE_H

#include "graph/graph.h"
#include "kernels/kernels.h"

/* Runs `op` on one sample. `out` has room for HR_OP_MAX_OUTPUTS tensors; their data is in the
 * arena. `level` chooses the kernels. */
hr_status hr_op_invoke(const char *op, const hr_arg_value *args, int32_t arg_count,
                       const hr_tensor *in, int32_t in_count, hr_rng rng, hr_cpu_level level,
                       hr_arena *arena, hr_tensor *out, int32_t *out_count, hr_error *error);

#endif
