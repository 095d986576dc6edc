/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Stages: a group of samples goes through all steps of a stage on one worker. No lock is held. */
#ifndef HR_EXEC_STAGE_H
#define HR_EXEC_STAGE_H

#include "exec/values.h"

/* Runs a stage for the group. Failures go to the status of the samples. */
void hr__stage_run(hr_group *g, const hr_plan_stage *stage);
/* After the last stage: samples that differ from the first one in type or number of dimensions are
 * bad. `worker`: that of this thread, or NULL, which can replace no sample. */
void hr__outputs_settle(hr_pipeline *p, hr_iteration *it, hr_worker *worker);

#endif
