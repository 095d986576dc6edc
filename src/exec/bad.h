/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Bad samples and the quarantine file. */
#pragma once

#include "exec/values.h"

void hr__bad_record(hr_pipeline *p, const hr_task *task, const char *action, const char *message);
/* Once per node: of several samples, the first is kept. */
void hr__bad_note(hr_pipeline *p, const hr_task *task, const char *message);
void hr__bad_fini(hr_pipeline *p);
hr_status hr__quarantine_open(hr_pipeline *p, const char *path, hr_error *error);
