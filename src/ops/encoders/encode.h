/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What encoders share. The size of a file is known when it is encoded, and outputs get their memory
 * before an operator runs. So `infer` encodes, and `run` copies. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_encode_image {
    int32_t height, width;
    int64_t channels; /* 1 without an axis for them */
} hr_encode_image;

typedef struct hr_encoded {
    const uint8_t *bytes; /* in the arena of the call */
    size_t size;
} hr_encoded;

/* The size of an image, HWC or HW, with 1 to `most` pixels along each side. */
hr_status hr_encode_take(const hr_tensor *in, int64_t most, hr_encode_image *image,
                         hr_error *error);
/* Describes the output, and leaves the file to hr_encode_run. */
hr_status hr_encode_keep(hr_op_call *c, const hr_encoded *encoded, hr_error *error);
hr_status hr_encode_run(hr_op_call *c, hr_error *error);
