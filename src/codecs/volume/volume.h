/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Volumes: files whose values mean something, and are delivered as they are. A format is one file
 * with one table (`const hr_volume_format hr_volume_format_nifti` in nifti.c); the build makes the
 * registry. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_volume_format hr_volume_format;

typedef struct hr_volume {
    const hr_volume_format *format;
    hr_shape shape;
    const char *layout; /* "DHW", "DHWC", "FDHW" */
    hr_dtype dtype;     /* of the stored values */
    /* What they mean: slope * stored + intercept. `unscaled`: why this is not known, or NULL. */
    double slope, intercept;
    const char *unscaled;
    const char *notice; /* what holds for many such files, or NULL */
    void *state;        /* of the format, from the call's arena */
} hr_volume;

struct hr_volume_format {
    const char *name; /* "NIfTI" */
    bool (*match)(const uint8_t *bytes, size_t size);
    /* Sets all but `format`; slope is 1 before. All values are in the file if it succeeds, or are
     * found missing by `read`, at a cost that follows from the file's size. */
    hr_status (*open)(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                      hr_error *error);
    /* Writes the stored values, dense. */
    hr_status (*read)(const hr_volume *v, hr_op_call *c, void *dst, hr_error *error);
};

/* NULL-terminated; written by the build. */
extern const hr_volume_format *const hr_volume_formats[];

/* Recognises the format and reads the header. Checks max_image_pixels, which counts voxels. The
 * bytes are used up to the last call of `read`. */
hr_status hr_volume_open(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                         hr_error *error);
