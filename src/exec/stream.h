/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Streams: a thread for each of them calls `next` ahead of time and feeds what comes, together with
 * the cursor behind it. */
#pragma once

#include "exec/source.h"

/* Starts the threads, after a checkpoint was restored. */
hr_status hr__streams_start(hr_pipeline *p, hr_error *error);
/* Ends all calls of `next` and joins the threads; p->stop is set. */
void hr__streams_stop(hr_pipeline *p);
/* Whether a stream has nothing for the next iteration yet. It may be the end of an epoch, so that
 * it does not matter what was fed. Lock held. */
bool hr__streams_awaited(const hr_pipeline *p);
