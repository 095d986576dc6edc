/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What a JPEG file is refused for before memory is taken for its image. */
#pragma once

#include "core/core.h"

/* Fails for processes and precisions that nobody here decodes, files without entropy-coded data,
 * and scans that make too much work of too few bytes. Otherwise *pixels is the number of pixels
 * that the entropy-coded data can hold at most; it is exact only where that is less than the
 * image has by more than HR_IMAGE_SLACK. */
hr_status hr_jpeg_check(const uint8_t *bytes, size_t size, int64_t *pixels, hr_error *error);
