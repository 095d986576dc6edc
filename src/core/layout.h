/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Layout strings: which letter is which dimension. */
#ifndef HR_CORE_LAYOUT_H
#define HR_CORE_LAYOUT_H

#include "core/error.h"

/* -1 when the layout lacks the letter. */
int32_t hr_layout_find(const hr_layout *layout, char letter);
bool hr_layout_is(const hr_layout *layout, const char *text);
/* Too long or duplicate letters: HR_STATUS_VALUE. NULL is the empty layout. */
hr_status hr_layout_set(hr_layout *layout, const char *text, hr_error *error);
/* The layout among "HWC|FHWC" that fits: the tensor's own if it is listed; when it has none, the
 * first of its number of dimensions. HR_STATUS_VALUE otherwise, naming what is allowed. */
hr_status hr_layout_match(const char *allowed, const hr_layout *given, int32_t ndim, hr_layout *out,
                          hr_error *error);

#endif
