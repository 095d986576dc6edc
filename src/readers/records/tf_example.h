/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Takes tensors from a serialised tf.train.Example, the payload of a TFRecord:
 *
 *   Example { 1: Features { 1: repeated map entry { 1: name, 2: Feature } } }
 *   Feature { 1: BytesList | 2: FloatList | 3: Int64List }, lists { 1: repeated value }
 */
#pragma once

#include "core/core.h"

typedef enum hr_tf_kind { /* the field of Feature */
                          HR_TF_KIND_NONE,
                          HR_TF_KIND_STRING,
                          HR_TF_KIND_FLOAT,
                          HR_TF_KIND_INT64
} hr_tf_kind;

typedef struct hr_tf_feature { /* what an output is made of */
    const char *name;
    size_t name_size;
    hr_tf_kind kind;
    bool var;       /* any number of values; `shape` is that of one of them */
    hr_shape shape; /* of the output; strings: not used */
    int64_t volume; /* of `shape` */
    const char *text_default;
    int64_t int_default;
    float float_default;
} hr_tf_feature;

typedef struct hr_tf_reading {
    const hr_tf_feature *features;
    int32_t count; /* at most HR_OP_MAX_OUTPUTS */
    /* An absent feature has the number of dimensions that it has when it is there; otherwise it is
     * 0-d, as in DALI. */
    bool fill;
} hr_tf_reading;

/* Sets one output per feature. Strings refer to `payload` and its buffer; numbers are in the
 * arena. */
hr_status hr_tf_example(const hr_tf_reading *r, const hr_tensor *payload, hr_arena *arena,
                        hr_tensor *out, hr_error *error);
