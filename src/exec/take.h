/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Going back: iterations in flight are dropped, and the sources continue after the last iteration
 * that was taken. The lock is held. */
#pragma once

#include "exec/state.h"

/* From now on nothing is scheduled until hr__rewind_end has succeeded. */
void hr__rewind(hr_pipeline *p);
/* Drops the iterations in flight if none of them has running tasks. Batches that hr_pipeline_feed
 * got wait again; those of hr_pipeline_call are dropped. Releases the lock while it frees them. */
bool hr__rewind_end(hr_pipeline *p);
