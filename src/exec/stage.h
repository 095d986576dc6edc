/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Stages: a group of samples goes through all steps of a stage on one worker. No lock is held. */
#pragma once

#include "exec/values.h"

/* Runs a stage for the group. Failures go to the status of the samples. */
void hr__stage_run(hr_group *g, const hr_plan_stage *stage);
/* Notes a failure at `node`: "operator 'name' (line): file: what". */
void hr__sample_failed(hr_group *g, int32_t i, const hr_node *node, hr_status status,
                       hr_error *error);
