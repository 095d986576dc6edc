/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What paste leaves for its run. */
#pragma once

#include <stdint.h>

typedef struct hr_paste {
    int64_t in_h, in_w, out_h, out_w, y, x; /* pixels */
    int32_t channels;
    const uint8_t *fill; /* one per channel */
} hr_paste;
