/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The image program: window of the source -> nothing, separable filter or gather -> window, mirror
 * -> pointwise -> normalise -> type, layout, fill. Operators' `lower` functions build it with the
 * hr_program_* calls of headrace/host.inc, in the order in which the user wrote them. A step that
 * cannot be added returns HR_STATUS_NOT_FUSABLE and leaves the program unchanged. Values are
 * rounded where the unfused operators round them, so fused and unfused graphs give the same bytes.
 *
 * Every layout is (outer dimensions) x H x W x (inner channels): HWC has no outer dimensions and C
 * inside; FCHW has the outer dimensions F and C and one inner channel; DHWC has the outer dimension
 * D. All images of a sample go through the same program. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"
#include "image/point.h"
#include "kernels/gather.h"
#include "kernels/kernels.h"

struct hr_coded; /* image/coded.h */

#define HR_OUTER_MAX 3
#define HR_CHANNELS_MAX 64 /* values of a per-channel argument, at most */

/* A coded image that can decode a window of itself. Allocated in the arena of the task. */
typedef struct hr_image_source {
    void *context;
    /* Writes window.h rows of window.w * channels elements of the program's src_dtype, `stride`
     * bytes apart. The window is inside the image. */
    hr_status (*decode)(void *context, hr_window window, void *dst, size_t stride, hr_op_call *c,
                        hr_error *error);
    /* Optional: decodes the same window a few rows at a time, top to bottom, so that it is never in
     * memory as a whole. `open` and `read` return HR_STATUS_NOT_FUSABLE for what they do not
     * support; the caller then starts again with `decode`. */
    hr_status (*open)(void *context, hr_window window, hr_op_call *c, hr_error *error);
    hr_status (*read)(void *context, void *dst, size_t stride, int32_t rows, hr_error *error);
    /* Optional: prepares the window for decoding on a device; `lasting` keeps memory until that is
     * done. HR_STATUS_NOT_FUSABLE: the CPU has to decode it. */
    hr_status (*stage)(void *context, hr_window window, hr_staging *staging, hr_arena *lasting,
                       hr_op_call *c, struct hr_coded *out, hr_error *error);
} hr_image_source;

typedef struct hr_outer {
    char letter;
    int64_t extent, stride; /* of the source, stride in elements */
    int64_t start, count;   /* the window; with has_fill it may exceed the source */
    int64_t low, high;      /* [low, high) comes from the source, the rest of the window is fill */
    bool reverse;
} hr_outer;

/* One axis of a separable filter: resampled, or with given taps. */
typedef struct hr_filter_axis {
    hr_resample_axis resample;
    hr_given_taps given; /* if `taps` is set: instead of `resample` */
} hr_filter_axis;

struct hr_image_program {
    /* source: a tensor, or a coded image when coded.decode is set */
    const void *data;
    hr_image_source coded;
    hr_dtype src_dtype;
    int64_t height, width; /* of the source image */
    int32_t channels;      /* inner channels; 1 when C is an outer dimension or absent */
    hr_layout src_layout;
    hr_outer outer[HR_OUTER_MAX];
    int32_t outer_count;

    hr_window clamp;     /* the pixels that filters may read, in source coordinates */
    bool resample;       /* there is a separable filter */
    hr_filter_axis y, x; /* relative to clamp's origin */
    bool sum;            /* a second filter, of given taps no longer than y's, is added */
    hr_filter_axis sum_y, sum_x;
    hr_gather_spec gather; /* instead of a resample; axes 0: none. `in` is the size of clamp */
    const hr_map *maps;    /* one, or one per frame */
    int32_t map_count;
    int64_t first_frame;             /* the frame of the first map */
    int64_t depth_first, depth_step; /* of volumes: elements to the first slice, and between them */
    hr_dtype resampled;              /* type after the resample or gather: rounding happens here */

    hr_window window; /* of the resampled image, or of clamp; with has_fill it may exceed it */
    bool mirror_x, mirror_y;
    bool has_fill;
    hr_window exist; /* with has_fill: pixels outside this window are fill */
    int32_t fill_count;
    float fill[HR_CHANNELS_MAX]; /* one per output channel, in the output's units */

    hr_point_step point[HR_POINT_MAX];
    int32_t point_count;
    int32_t out_channels; /* inner channels after the points */

    bool normalize;
    int32_t norm_count; /* 1, or one per channel */
    float mean[HR_CHANNELS_MAX], mul[HR_CHANNELS_MAX];
    int32_t pad_channels; /* channels written, the added ones as fill; 0: none are added */

    hr_dtype dtype;   /* of the output */
    hr_layout layout; /* of the output */
};

/* Starts a program. `layouts` as in hr_input_def. */
hr_status hr_program_from_tensor(hr_image_program *p, const hr_tensor *t, const char *layouts,
                                 hr_error *error);
/* An HWC image. */
hr_status hr_program_from_coded(hr_image_program *p, hr_image_source source, hr_dtype dtype,
                                int64_t height, int64_t width, int32_t channels, hr_error *error);

/* Takes pixels from positions in the current image, or volume with three axes. `maps` is one map,
 * or one per frame, borrowed until the program has run. The image's type is UINT8, INT16, INT32
 * or FLOAT, and so is `dtype`. Of an image without pixels, everything is fill. */
hr_status hr_program_gather(hr_image_program *p, const hr_gather_spec *gather, const hr_map *maps,
                            int32_t map_count, hr_dtype dtype, hr_error *error);
/* A matrix needs as many interleaved channels as it has inputs, a table UINT8. With values per
 * frame, step->frames must be the number of frames of the current sequence. */
hr_status hr_program_point(hr_image_program *p, const hr_point_step *step, hr_error *error);

/* Dtype, shape and layout of the output. */
void hr_program_describe(const hr_image_program *p, hr_tensor *out);
/* Runs the program into `out` (dense, as hr_program_describe says; nothing is written past it).
 * Scratch comes from c->arena, loops from c->kernels; `c` also goes to the coded source. */
hr_status hr_program_run(const hr_image_program *p, hr_op_call *c, void *out, hr_error *error);

/* Filter taps of one axis, by DALI's conventions (positions in single precision); used by the
 * program and by filters over N axes. n: length of the input axis. Taps outside [0, n) are folded
 * onto the edge element when resampling, and reflected when they are given. Memory from the arena.
 */
typedef struct hr_filter_taps {
    int32_t out, taps;    /* every output element has `taps` consecutive taps */
    const int32_t *start; /* first input element, 0 <= start, start + taps <= n */
    const float *coef;    /* out x taps; when resampling, each output's sum to 1 */
    /* Outputs even_from .. even_to - 1 have the same coefficients, and starts that rise by 1. */
    int32_t even_from, even_to;
} hr_filter_taps;
hr_status hr_filter_make(hr_filter_taps *f, const hr_filter_axis *axis, int64_t n, hr_arena *arena,
                         hr_error *error);
