/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conditionals: which samples take a branch, and what its merge returns. No lock is held. */
#pragma once

#include "exec/values.h"

/* Whether the group's i-th sample takes the branch that contains the node. */
hr_status hr__guard_holds(const hr_group *g, const hr_node *node, int32_t i, bool *holds,
                          hr_error *error);
/* Fails if one batch cannot contain both. */
hr_status hr__merged_check(const hr_node *merge, const hr_tensor *a, const hr_tensor *b,
                           hr_error *error);
/* Records what a merge returned for a sample. The iteration fails if another sample got a tensor
 * of a different kind. */
void hr__merged_note(hr_group *g, const hr_node *merge, const hr_tensor *t);
