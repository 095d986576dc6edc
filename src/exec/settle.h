/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What becomes of samples that failed (on_error). No lock is held. */
#pragma once

#include "exec/values.h"

/* After a stage. */
void hr__samples_settle(hr_group *g);
/* After the last stage: samples that differ from the first one in type or number of dimensions are
 * bad. `worker`: that of this thread, or NULL, which can replace no sample. */
void hr__outputs_settle(hr_pipeline *p, hr_iteration *it, hr_worker *worker);
