/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to graph/: memory that lives as long as a node. */
#pragma once

#include "graph/graph.h"

#define HR_NODE_TEXT_SIZE 192

/* Takes over memory of hr_calloc, also after a failure. */
hr_status hr__node_own(hr_node *node, void *memory, hr_error *error);
void *hr__node_store(hr_node *node, size_t count, size_t size, hr_error *error);
hr_status hr__node_strdup(hr_node *node, const char *text, char **out, hr_error *error);
void hr__node_destroy(hr_node *node);
