/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shapes and views. */
#ifndef HR_CORE_TENSOR_H
#define HR_CORE_TENSOR_H

#include "core/error.h"

/* Elements of a shape; a 0-d shape has 1. false on overflow or a negative extent. */
bool hr_shape_volume(const hr_shape *shape, size_t *volume);
bool hr_shape_equal(const hr_shape *a, const hr_shape *b);
hr_shape hr_shape_make(int32_t ndim, const int64_t *extent);
/* "480x640x3" into `text`; returns `text`. */
const char *hr_shape_text(const hr_shape *shape, char *text, size_t size);
/* Bytes of the tensor's elements; false on overflow. */
bool hr_tensor_bytes(const hr_tensor *tensor, size_t *bytes);
/* Sets dtype, shape and layout; data, buffer, source_info become NULL. `layout` may be NULL. */
void hr_tensor_describe(hr_tensor *tensor, hr_dtype dtype, hr_shape shape, const char *layout);

#endif
