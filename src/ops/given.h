/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which arguments a node was given. */
#ifndef HR_OPS_GIVEN_H
#define HR_OPS_GIVEN_H

#include "headrace/operator.h"

/* Whether argument `name` is given; `given` is the bit set that `check` gets. */
bool hr__arg_given(const hr_arg_def *defs, uint64_t given, const char *name);

#endif
