/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to graph/: what the table of an operator says. */
#pragma once

#include "graph/graph.h"

int32_t hr__args_count(const hr_op_def *def);
/* Index of the argument with exactly this name, deprecated ones included, or -1. */
int32_t hr__args_find_exact(const hr_op_def *def, const char *name);
