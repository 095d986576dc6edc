/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Transposes planes of elements in tiles. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* Element i, j of the result, at to + i * to_step + j * item, is that at from + i * item + j *
 * from_step. false, and nothing is done, unless an element has 1, 2, 4 or 8 bytes. The memory does
 * not overlap. */
bool hr__tiles_copy(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows,
                    int64_t columns, size_t item);
