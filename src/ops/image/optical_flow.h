/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* optical_flow: what the operator and the CUDA module share. */
#pragma once

#include <stdint.h>

typedef struct optical_flow_args {
    float preset;
    int32_t output_grid, hint_grid; /* pixels per vector along an axis */
    int32_t enable_temporal_hints, enable_external_hints;
    int32_t image_type;
} optical_flow_args;
