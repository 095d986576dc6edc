/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Prepares resampled axes for taps.h. */
#ifndef HR_IMAGE_FILTER_H
#define HR_IMAGE_FILTER_H

#include "image/program.h"
#include "image/taps.h"

/* Sets all fields except `table` and `starts`. n: length of the input axis. */
hr_status hr__taps_make(hr_taps *t, const hr_resample_axis *axis, int64_t n, hr_error *error);
/* Fills the table of a curve: taps.last + 1 entries, at most TAPS_TABLE_MAX. The triangle has no
 * table. */
void hr__taps_table(hr_interp interp, float *table);
/* Starts of the first `count` outputs of nearest neighbour with running positions. */
void hr__taps_running(const hr_taps *t, int32_t count, int32_t *starts);

#endif
