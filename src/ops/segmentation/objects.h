/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Connected objects in a mask. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_OBJECT_DIMS 6

/* An object: its class and the box around it, [low, high). */
typedef struct hr_component {
    int32_t label;
    int32_t low[HR_OBJECT_DIMS], high[HR_OBJECT_DIMS];
    int32_t number; /* in the order of the first elements, from 0 */
} hr_component;

/* Finds objects: elements of one class that are connected through faces. `labels` has the class of
 * each element of a mask with `shape`; those equal to `background` belong to no object. Memory from
 * the arena. */
hr_status hr__objects_find(const int32_t *labels, const hr_shape *shape, int32_t background,
                           hr_arena *arena, hr_component **objects, int32_t *count,
                           hr_error *error);
