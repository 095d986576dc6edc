/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The image program: window of the source -> resample -> window, mirror -> pointwise -> normalise
 * -> type, layout. Operators' `lower` functions build it with the hr_program_* calls, in the order
 * in which the user wrote them; a call that cannot be added answers HR_STATUS_NOT_FUSABLE and
 * leaves the program as it was. Rounding stays where the unfused operators round, so fused and
 * unfused give the same bytes.
 *
 * Any layout is (outer dimensions) x H x W x (inner channels): HWC has no outer and C inner, FCHW
 * has outer F, C and one inner channel, DHWC outer D. All pictures of a sample go through the same
 * program. */
#ifndef HR_IMAGE_PROGRAM_H
#define HR_IMAGE_PROGRAM_H

#include "core/core.h"
#include "core/staging.h"
#include "headrace/operator.h"
#include "kernels/kernels.h"

struct hr_jpeg_device_picture; /* codecs/jpeg/device.h */

#define HR_OUTER_MAX 3
#define HR_CHANNELS_MAX 64 /* channels that per-channel arguments may have */
#define HR_POINT_MAX 8

typedef struct hr_window {
    int64_t y, x, h, w;
} hr_window;

/* A coded picture: decodes a window of itself. Lives in the arena until the task ends. */
typedef struct hr_image_source {
    void *context;
    /* Writes window.h rows of window.w * channels elements of the program's src_dtype, `stride`
     * bytes apart. The window lies inside the picture. */
    hr_status (*decode)(void *context, hr_window window, void *dst, size_t stride, hr_op_call *c,
                        hr_error *error);
    /* Optional: the same window a few rows at a time, top to bottom, so that it never lies in
     * memory whole. `open` answers HR_STATUS_NOT_FUSABLE for what it does not take, and so does
     * `read` when it meets what only `decode` can deal with; then `decode` starts afresh. */
    hr_status (*open)(void *context, hr_window window, hr_op_call *c, hr_error *error);
    hr_status (*read)(void *context, void *dst, size_t stride, int32_t rows, hr_error *error);
    /* Optional: makes the window ready for a device; HR_STATUS_NOT_FUSABLE: it must be decoded
     * here.
     */
    hr_status (*stage)(void *context, hr_window window, hr_staging *staging, hr_op_call *c,
                       struct hr_jpeg_device_picture *out, hr_error *error);
} hr_image_source;

typedef struct hr_outer {
    char letter;
    int64_t extent, stride; /* of the source, stride in elements */
    int64_t start, count;   /* what is taken of it; may stick out only with has_fill */
    int64_t low, high;      /* the part of the source that exists, [low, high): all else is fill */
    bool reverse;
} hr_outer;

/* One resampled axis: [lo, hi) of the picture onto `out` pixels; hi < lo mirrors. */
typedef struct hr_resample_axis {
    double lo, hi;
    int32_t out;
    hr_interp interp; /* resolved: min or mag filter */
    bool antialias;
    bool running; /* NN: positions are summed up, rounding as they go, as DALI does along H; the
                     program sets it */
} hr_resample_axis;

typedef enum hr_point_kind {
    HR_POINT_KIND_CAST,   /* to `dtype`, DALI's cast rule */
    HR_POINT_KIND_MATRIX, /* out = m * in + add per pixel in float, rounded half away to `dtype` */
    HR_POINT_KIND_CUT     /* to `dtype`, but fractions are cut off: hr_convert_cut */
} hr_point_kind;

typedef struct hr_point_step {
    hr_point_kind kind;
    hr_dtype dtype;
    float m[3][4];
} hr_point_step;

struct hr_image_program {
    /* source: a tensor, or a coded picture when coded.decode is set */
    const void *data;
    hr_image_source coded;
    hr_dtype src_dtype;
    int64_t height, width; /* of the source picture */
    int32_t channels;      /* inner channels; 1 when C is an outer dimension or absent */
    hr_layout src_layout;
    hr_outer outer[HR_OUTER_MAX];
    int32_t outer_count;

    hr_window clamp; /* the pixels that exist for the resampler, in source coordinates */
    bool resample;
    hr_resample_axis y, x; /* relative to clamp's origin */
    hr_dtype resampled;    /* type after the resample: rounding happens here */

    hr_window window; /* of the resampled picture (or of clamp); may stick out only with has_fill */
    bool mirror_x, mirror_y;
    bool has_fill;
    hr_window exist; /* with has_fill: the window before it stuck out; all else is fill */
    int32_t fill_count;
    float fill[HR_CHANNELS_MAX]; /* one per channel, in the output's units; added channels have
                                    theirs too */

    hr_point_step point[HR_POINT_MAX];
    int32_t point_count;

    bool normalize;
    int32_t norm_count; /* 1, or one per channel */
    float mean[HR_CHANNELS_MAX], mul[HR_CHANNELS_MAX];
    int32_t pad_channels; /* channels written, added ones zero (or fill); 0: none are added */

    hr_dtype dtype;   /* of the output */
    hr_layout layout; /* of the output */
};

/* Starts a program. `layouts` as in hr_input_def. */
hr_status hr_program_from_tensor(hr_image_program *p, const hr_tensor *t, const char *layouts,
                                 hr_error *error);
/* An HWC picture. */
hr_status hr_program_from_coded(hr_image_program *p, hr_image_source source, hr_dtype dtype,
                                int64_t height, int64_t width, int32_t channels, hr_error *error);

/* Extent after what was added so far of H, W, C, D, F; 1 for a dimension that is not there. */
int64_t hr_program_extent(const hr_image_program *p, char letter);
bool hr_program_has(const hr_image_program *p, char letter);
hr_dtype hr_program_dtype(const hr_image_program *p);

/* Keeps a window of the picture as it is now. A window that sticks out needs `fill` (count 1 or
 * channels; in the picture's type), otherwise: HR_STATUS_ERROR; after it only windows inside or
 * with the same fill, flips, casts and the output's layout can be added. Windows and flips commute
 * with per-pixel steps, so an operator whose fill comes after its normalisation adds the
 * normalisation first, then the window. */
hr_status hr_program_crop(hr_image_program *p, hr_window window, const float *fill,
                          int32_t fill_count, hr_error *error);
/* The same of an outer dimension ('D'): keeps start .. start + count - 1. */
hr_status hr_program_crop_outer(hr_image_program *p, char letter, int64_t start, int64_t count,
                                const float *fill, int32_t fill_count, hr_error *error);
hr_status hr_program_flip(hr_image_program *p, bool horizontal, bool vertical, bool depthwise,
                          hr_error *error);
/* Axes are relative to the picture now. `dtype` is the picture's or FLOAT. */
hr_status hr_program_resample(hr_image_program *p, const hr_resample_axis *y,
                              const hr_resample_axis *x, hr_dtype dtype, hr_error *error);
hr_status hr_program_point(hr_image_program *p, const hr_point_step *step, hr_error *error);
/* (v - mean) * mul, then to `dtype` (FLOAT, FLOAT16, UINT8, INT8: half away, saturated). count is 1
 * or channels. */
hr_status hr_program_normalize(hr_image_program *p, const float *mean, const float *mul,
                               int32_t count, hr_dtype dtype, hr_error *error);
/* Permutes dimensions on output ("CHW"; a permutation of all letters, NULL: as they are), pads
 * channels to `pad_channels` (0: no) with 0, or with `fill` (that channel's, or the last). */
hr_status hr_program_output(hr_image_program *p, const char *layout, int32_t pad_channels,
                            const float *fill, int32_t fill_count, hr_error *error);

/* What the program makes: dtype, shape, layout. */
void hr_program_describe(const hr_image_program *p, hr_tensor *out);
/* Runs it into `out` (dense, described by hr_program_describe; written exactly, nothing beyond).
 * Scratch comes from c->arena, loops from c->kernels; `c` also goes to the coded source. */
hr_status hr_program_run(const hr_image_program *p, hr_op_call *c, void *out, hr_error *error);

/* Filter taps of one axis, by DALI's conventions (positions in single precision); used by the
 * program and by N-axis resampling. n: length of the input axis. Taps outside [0, n) are folded
 * onto the edge element. Memory from the arena. */
typedef struct hr_filter_taps {
    int32_t out, taps;    /* every output element has `taps` consecutive taps */
    const int32_t *start; /* first input element, 0 <= start, start + taps <= n */
    const float *coef;    /* out x taps, each output's sum to 1 */
} hr_filter_taps;
hr_status hr_filter_make(hr_filter_taps *f, const hr_resample_axis *axis, int64_t n,
                         hr_arena *arena, hr_error *error);

#endif
