/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A window of a tensor of any number of dimensions, filled where it leaves the tensor; and fill
 * values as DALI converts them. For the windows that an image program does not have: those that
 * leave a volume along the depth. */
#ifndef HR_OPS_GENERIC_WINDOW_COPY_H
#define HR_OPS_GENERIC_WINDOW_COPY_H

#include "core/core.h"

/* `src` from start[d] on into `dst` (same type, dst->shape says how much). Outside: fill[0], or
 * with `fill_count` > 1 the one of the element's index along dimension `channel_dim`. */
hr_status hr__window_copy(hr_tensor *dst, const hr_tensor *src, const int64_t *start,
                          const float *fill, int32_t fill_count, int32_t channel_dim,
                          hr_error *error);

#endif
