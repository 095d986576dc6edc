/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Checkpoints: restoring them. */
#pragma once

#include "exec/state.h"

/* Parses the checkpoint, if there is one, and sets the seed: the given one, the checkpoint's, or a
 * random one. */
hr_status hr__checkpoint_open(hr_pipeline *p, hr_error *error);
hr_status hr__checkpoint_restore(hr_pipeline *p, hr_error *error);
uint64_t hr__graph_fingerprint(const hr_graph *graph);
