/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Takes tensors from the messages that LMDB databases of Caffe and Caffe2 hold:
 *
 *   Datum { 1: channels, 2: height, 3: width, 4: data, 5: label, 7: encoded }
 *
 *   TensorProtos { 1: repeated TensorProto }
 *   TensorProto { 1: dims, 2: data_type, 3: floats, 4: int32s, 5: bytes, 6: strings, 10: int64s }
 *
 * The tensors of a sample are an image, labels, weights of the labels, additional ones, and a box.
 */
#pragma once

#include "core/core.h"

/* Sets one output for the image and one for the label, if they are wanted. Images refer to
 * `value` and its buffer; numbers are in the arena. The same holds below. */
hr_status hr_caffe_datum(const hr_tensor *value, bool image, bool label, hr_arena *arena,
                         hr_tensor *out, hr_error *error);

enum { HR_CAFFE2_NO_LABEL = 4, HR_CAFFE2_ADDITIONAL_MOST = HR_OP_MAX_OUTPUTS - 4 };

/* The outputs to make: as the arguments of readers.caffe2. */
typedef struct hr_caffe2_wanted {
    bool image, box;
    int32_t label_type; /* up to HR_CAFFE2_NO_LABEL */
    int32_t num_labels, additional;
} hr_caffe2_wanted;

int32_t hr_caffe2_outputs(const hr_caffe2_wanted *wanted); /* their number */
hr_status hr_caffe2_tensors(const hr_caffe2_wanted *wanted, const hr_tensor *value, hr_arena *arena,
                            hr_tensor *out, hr_error *error);
