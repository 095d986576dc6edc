/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Prepares the axes of separable filters for taps.h. */
#pragma once

#include "image/program.h"
#include "image/taps.h"

/* Sets all fields except `starts` and, unless taps are given, `table`. n: length of the input axis.
 */
hr_status hr__taps_make(hr_taps *t, const hr_filter_axis *axis, int64_t n, hr_error *error);
/* Entries of the table that the axis needs: at most TAPS_TABLE_MAX unless taps are given. 0 for the
 * triangle, which needs none. */
int32_t hr__taps_table_size(const hr_taps *t);
void hr__taps_table(const hr_filter_axis *axis, float *table);
/* Whether the taps are weights of a mean: at least 0, and their sum is 1. */
bool hr__taps_are_mean(const hr_filter_axis *axis);
/* Starts of the first `count` outputs of nearest neighbour with running positions. */
void hr__taps_running(const hr_taps *t, int32_t count, int32_t *starts);
