/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* An image program prepared for a device: a flat record with checked sizes, cut into tiles, which
 * the kernels of cuda/image read (nvcc compiles this header, too). The source is a coded image,
 * or a tensor in device memory. */
#pragma once

#include "headrace/operator.h"
#include "image/point.h"
#include "image/taps.h"
#include "kernels/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_DEVICE_OUTER_MAX 3
#define HR_DEVICE_CHANNELS_MAX 64

/* How pixels are made. */
typedef enum hr_device_kind {
    HR_DEVICE_KIND_NONE,  /* only fill */
    HR_DEVICE_KIND_PICK,  /* elements of the source */
    HR_DEVICE_KIND_FIXED, /* u8 resampled in fixed point, 1 to 4 channels */
    HR_DEVICE_KIND_FLOAT, /* resampled in float */
    HR_DEVICE_KIND_GATHER /* taken from positions by a map */
} hr_device_kind;

/* How pixels are stored. U8, F16 and F32: u8 pixels, stored as this type. POINTS: u8 pixels through
 * steps that give u8, then stored as one of these types; COLOR: the same, of pixels of three
 * channels, later at most three. ANY: any steps on any types, and GATHER from anything but images
 * of u8. */
typedef enum hr_device_store {
    HR_DEVICE_STORE_U8,     /* as it is */
    HR_DEVICE_STORE_F16,    /* normalised */
    HR_DEVICE_STORE_F32,    /* normalised */
    HR_DEVICE_STORE_POINTS, /* through steps, then as one of the above */
    HR_DEVICE_STORE_COLOR,  /* the same, from three channels, never more */
    HR_DEVICE_STORE_ANY,
    HR_DEVICE_STORE_COUNT
} hr_device_store;

typedef struct hr_device_outer {
    int32_t extent;       /* of the output */
    int32_t first, count; /* indices that the source has; the others are fill */
    int64_t src_stride;   /* bytes; negative when reversed */
    int64_t dst_stride;   /* elements */
} hr_device_outer;

/* Data that few programs need. */
typedef struct hr_device_tables {
    float mean[HR_DEVICE_CHANNELS_MAX], mul[HR_DEVICE_CHANNELS_MAX];
    uint64_t fill[HR_DEVICE_CHANNELS_MAX]; /* elements of the output's type in the low bytes */
    hr_point_step point[HR_POINT_MAX];
} hr_device_tables;

/* GATHER: where pixels come from. */
typedef struct hr_device_gather {
    hr_gather_spec gather;
    const hr_map *maps; /* one, or one per frame */
    int32_t map_count;
    int32_t frames, depth;         /* outer dimensions that number frames and slices, or -1 */
    int32_t first_frame;           /* the map of the first frame of the output */
    int32_t first_slice, slice_by; /* the first slice of the output; 1, or -1 if reversed */
    int64_t slice_step;            /* bytes from slice to slice of the source */
} hr_device_gather;

/* The image is cut into rows x columns tiles of at most height x width outputs. PICK, except for
 * ANY: it has `height` runs of `width` pixels, and tiles of HR_DEVICE_PIXELS / 4 groups of pixels.
 */
typedef struct hr_device_tiles {
    int32_t rows, columns, height, width;
    int32_t span;   /* FIXED: source columns under a tile, at most; a multiple of 4.
                       FLOAT: source columns processed at a time */
    int32_t lines;  /* FLOAT: rows processed at a time */
    int32_t shared; /* bytes of shared memory */
    int32_t count;  /* of all images */
} hr_device_tiles;

/* Plain data; pointers are device addresses. */
typedef struct hr_device_program {
    /* Set by the launch before the records are copied. A coded source: the window that
     * hr_device_program_window asks for, as dense rows of interleaved pixels, unless
     * hr_device_program_set_source sets another stride. A tensor: its first element, which
     * hr_device_program_make sets if the tensor's data is known. */
    const void *src;
    void *dst;

    /* Set by hr_device_program_make. */
    int64_t src_offset; /* bytes from src to the first pixel needed, of the first image */
    int64_t src_stride; /* bytes from row to row */
    /* Readable bytes of the image before its first needed pixel, and from it on. */
    int64_t lead, tail;
    uint8_t kind, store;                 /* hr_device_kind, hr_device_store */
    uint8_t src_dtype, resampled, dtype; /* of the source, after the resample, of the output */
    uint8_t point_count, outer_count;
    bool resample, normalize, mirror_y, mirror_x;
    bool fill;            /* some of the output is fill */
    int8_t plane;         /* the outer dimension that is C, or -1 */
    int8_t frames;        /* with steps that have values per frame: the dimension F; then there is
                             no plane. Otherwise -1 */
    int32_t channels;     /* inner channels read */
    int32_t out_channels; /* after the points */
    int32_t dst_channels; /* channels written: the added ones are fill */

    int32_t need_y, need_x, need_h, need_w; /* source pixels, from the resampled region's origin */
    hr_taps y, x;
    bool sum; /* FLOAT: a second filter is added */
    hr_taps sum_y, sum_x;
    int32_t view_y, view_x, view_h, view_w; /* outputs of the resample that are kept */
    int32_t inside_y, inside_x;             /* their position in the window, before mirroring */
    int32_t window_h, window_w;
    int64_t dst_y, dst_x, dst_c; /* strides of the output in elements */
    hr_device_outer outer[HR_DEVICE_OUTER_MAX];
    hr_device_tiles tiles;          /* without fill */
    int32_t fill_tiles;             /* of HR_DEVICE_PIXELS outputs */
    float mean[4], mul[4];          /* per channel or plane; more than 4 are in the tables */
    const hr_device_tables *tables; /* NULL if not needed */
    const hr_device_gather *gather; /* GATHER */
} hr_device_program;

enum {
    HR_DEVICE_PIXELS = 16384,     /* outputs per tile of PICK and of fill; a multiple of 16 */
    HR_DEVICE_RUN = 8,            /* GATHER, ANY: adjacent outputs that a thread makes */
    HR_DEVICE_RUNS = 512,         /* GATHER, ANY: runs of a tile */
    HR_DEVICE_GATHER_WIDE = 64,   /* GATHER, others: columns of a tile; a multiple of 8 */
    HR_DEVICE_GATHER_HIGH = 64,   /* and rows; a multiple of 4 */
    HR_DEVICE_THREADS = 256,      /* threads per block */
    HR_DEVICE_SHARED = 48 * 1024, /* bytes of shared memory per block, at most */
    HR_DEVICE_COLUMNS = 224,      /* FIXED: columns per tile and threads per block, at most */
    HR_DEVICE_GROUP = 4           /* FLOAT: channels at a time */
};

struct hr_window;
struct hr_filter_axis;

/* The window of the coded image that the program needs. Empty if all of the output is fill. */
hr_status hr_device_program_window(const hr_image_program *p, struct hr_window *out,
                                   hr_error *error);
/* Whether the program only picks elements one by one, of any types. An operator's own version for
 * devices is faster than that. */
bool hr_device_program_is_plain(const hr_image_program *p);
/* HR_STATUS_LIMIT for images that are too large for the kernels' 32-bit indices. Stages the
 * filter's curve and the tables if the program needs them; the device makes the taps. */
hr_status hr_device_program_make(const hr_image_program *p, hr_staging *staging,
                                 hr_device_program *out, hr_error *error);

/* The taps of one axis of `n` elements; its table is staged. */
hr_status hr_device_taps_make(const struct hr_filter_axis *axis, int64_t n, hr_staging *staging,
                              hr_taps *out, hr_error *error);

/* Sets the address of a coded source's window: rows are `stride` bytes apart, and `size` bytes from
 * `src` on may be read, whatever their values. Reading is fastest with a few readable bytes after
 * the last row. */
static inline void hr_device_program_set_source(hr_device_program *p, const void *src,
                                                int64_t stride, int64_t size)
{
    p->src = src;
    p->src_stride = stride;
    p->tail = size;
}

#ifdef __cplusplus
}
#endif
