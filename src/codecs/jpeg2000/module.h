/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of libheadrace_jpeg2000.so, which contains or needs OpenJPEG: one exported
 * function, hr_jpeg2000_module. It decodes codestreams; boxes, limits and colours are the core's
 * part. The module links none of our libraries. Its functions may be called from any thread. */
#pragma once

#include "headrace/headrace.h"

enum { HR_JPEG2000_ABI_VERSION = 1, HR_JPEG2000_COMPONENTS = 64 };

/* Samples of a component, dense rows. */
typedef struct hr_jpeg2000_plane {
    const int32_t *data;
    uint32_t x0, y0; /* of its first sample, on the component's own grid */
    uint32_t w, h;
} hr_jpeg2000_plane;

typedef struct hr_jpeg2000_job {
    const uint8_t *bytes; /* the codestream */
    size_t size;
    uint32_t x0, y0, x1, y1; /* the area to decode, on the reference grid */
    uint32_t count;          /* components that the codestream must have */
    bool whole;              /* the area is the whole image */
    hr_jpeg2000_plane planes[HR_JPEG2000_COMPONENTS]; /* what was decoded; for `release` */
    void *image;
    char message[160]; /* why decoding failed */
} hr_jpeg2000_job;

typedef struct hr_jpeg2000_module_def {
    uint32_t abi;         /* HR_JPEG2000_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_jpeg2000_module_def) when the module was compiled */
    const char *(*version)(void);
    bool (*decode)(hr_jpeg2000_job *job);
    void (*release)(hr_jpeg2000_job *job); /* frees the planes */
} hr_jpeg2000_module_def;

typedef const hr_jpeg2000_module_def *(*hr_jpeg2000_module_fn)(void);
HR_API const hr_jpeg2000_module_def *hr_jpeg2000_module(void);

/* Opens the module; fails with what to install if it is not there. */
hr_status hr_jpeg2000_open_module(const hr_jpeg2000_module_def **out, hr_error *error);
