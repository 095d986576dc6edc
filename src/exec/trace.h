/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The spans of all tasks and of the device, written to a file. Every thread has a lane: first the
 * workers, then the sources, last the device. */
#pragma once

#include "graph/graph.h"

typedef struct hr_trace_span {
    const hr_node *first, *last; /* what ran: one node, or all from the first to the last */
    int64_t start_ns, end_ns, iteration;
    int32_t sample; /* -1: all samples */
} hr_trace_span;

typedef struct hr_trace hr_trace;
hr_status hr__trace_create(hr_trace **out, const char *path, int32_t workers, int32_t sources,
                           hr_error *error);
int32_t hr__trace_source_lane(const hr_trace *trace, int32_t source);
int32_t hr__trace_device_lane(const hr_trace *trace);
void hr__trace_span(hr_trace *trace, int32_t at, hr_trace_span span); /* at: the lane */
/* Writes the file; NULL is fine. */
hr_status hr__trace_destroy(hr_trace *trace, hr_error *error);
