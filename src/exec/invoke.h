/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* One operator without a graph: immediate use, the conformance harness and plug-in tests stand on
 * it. */
#ifndef HR_EXEC_INVOKE_H
#define HR_EXEC_INVOKE_H

#include "graph/graph.h"
#include "kernels/kernels.h"

/* Runs `op` on one sample. Outputs (as many as the operator has, HR_OP_MAX_OUTPUTS at most) lie in
 * the arena. `level` chooses the kernels. */
hr_status hr_op_invoke(const char *op, const hr_arg_value *args, int32_t arg_count,
                       const hr_tensor *in, int32_t in_count, hr_rng rng, hr_cpu_level level,
                       hr_arena *arena, hr_tensor *out, int32_t *out_count, hr_error *error);

#endif
