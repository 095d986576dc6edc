/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What erase leaves for its run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HR_ERASE_AXES 5

/* A region that is erased: not empty, and inside the tensor. */
typedef struct hr_erase_box {
    int64_t start[HR_ERASE_AXES], end[HR_ERASE_AXES];
} hr_erase_box;

typedef struct hr_erase {
    int64_t extent[HR_ERASE_AXES]; /* ones before the tensor's own */
    int32_t count;                 /* of boxes */
    int32_t channels;              /* the axis with a fill of its own for each index, or -1 */
    const hr_erase_box *boxes;
    const uint64_t *fills; /* elements of the tensor's type in the low bytes */
    int32_t fill_count;
} hr_erase;
