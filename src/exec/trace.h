/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The spans of all tasks, written to a file. */
#ifndef HR_EXEC_TRACE_H
#define HR_EXEC_TRACE_H

#include "graph/graph.h"

typedef struct hr_trace hr_trace;
hr_status hr__trace_create(hr_trace **out, const char *path, int32_t workers, hr_error *error);
void hr__trace_span(hr_trace *trace, int32_t worker, const hr_node *node, int64_t start_ns,
                    int64_t end_ns, int64_t iteration, int32_t sample);
/* Writes the file; NULL is fine. */
hr_status hr__trace_destroy(hr_trace *trace, hr_error *error);

#endif
