/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Layout strings: which letter is which dimension. */
#ifndef HR_CORE_LAYOUT_H
#define HR_CORE_LAYOUT_H

#include "core/error.h"

/* -1 when the layout does not contain the letter. */
int32_t hr_layout_find(const hr_layout *layout, char letter);
bool hr_layout_is(const hr_layout *layout, const char *text);
/* NULL is the empty layout. HR_STATUS_VALUE if the text is too long or has a character other than
 * visible ASCII without '|'. */
hr_status hr_layout_set(hr_layout *layout, const char *text, hr_error *error);
/* Finds a layout in a list such as "HWC|FHWC": the tensor's own if it is listed; for a tensor
 * without layout, the first one with its number of dimensions. Otherwise HR_STATUS_VALUE, naming
 * the list. */
hr_status hr_layout_match(const char *allowed, const hr_layout *given, int32_t ndim, hr_layout *out,
                          hr_error *error);

#endif
