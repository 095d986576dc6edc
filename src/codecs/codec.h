/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Coded images. A codec is one file with one table (`const hr_codec hr_codec_png` in png.c); the
 * build makes the registry from the file names. decode.c contains what all codecs share:
 * orientation, colour conversion, type conversion, limits. */
#pragma once

#include "codecs/steps.h"
#include "core/core.h"
#include "headrace/operator.h"
#include "image/program.h"

typedef struct hr_codec hr_codec;

/* A file may lack this many pixels of its image without being refused before decoding: damaged
 * files of usual sizes are left to the decoders. */
#define HR_IMAGE_SLACK ((int64_t)1 << 24)

/* Limits of the memory that decoding takes in addition to the image: a number of bytes, and more
 * bytes for each byte of the file. Only libjpeg-turbo and libwebp come near, when they keep data of
 * a whole image, and TIFF files with huge tiles. A photograph in a progressive JPEG file takes 10
 * to 60 bytes per byte. */
#define HR_IMAGE_MEMORY ((size_t)256 << 20)
#define HR_IMAGE_MEMORY_PER_BYTE 256

/* The contents of the header. */
typedef struct hr_image_info {
    const hr_codec *codec;
    int32_t height, width; /* as stored, before orientation */
    int32_t channels;      /* in the file: 1 grey, 2 grey + alpha, 3 colour, 4 colour + alpha (CMYK
                              counts as 3) */
    int32_t bits;          /* per element: 8, 16, or 32 for floats, of which 1 is white */
    int32_t orientation;   /* EXIF, 1 .. 8 */
    int32_t components;    /* JPEG: of the frame */
    int32_t page;          /* set before `header` */
    int32_t pages;         /* in the file: pages of TIFF, frames of GIF, WebP and PNG; 0 means 1 */
    int32_t others;        /* of these, how many are images that this page does not show */
    bool progressive;      /* JPEG: a progressive file, Huffman-coded */
    bool lossless;         /* JPEG: predictions, Huffman-coded */
    bool luma;             /* of colours, the file holds luma, which is what one channel means */
    bool refused;          /* `open` or `read` rejected the file, so `decode` need not try the same
                              method */
} hr_image_info;

/* How the delivered image is made of the stored one: the stored axes are reversed, then swapped.
 */
typedef struct hr_turn {
    bool swap, flip_y, flip_x;
} hr_turn;

/* The frames of an animation, each drawn over those before it: what is kept from one to the next.
 */
typedef struct hr_animation hr_animation;

/* A request to a codec: a window of the stored image. */
typedef struct hr_codec_request {
    hr_window window;
    hr_turn turn; /* `stage` only; the others write rows as stored */
    /* 1 (grey files, or a codec with `grey`), 3 (any file: grey is repeated, alpha dropped), or
     * info.channels. */
    int32_t channels;
    void *dst;               /* u8, u16 or float, by info.bits */
    size_t stride;           /* bytes between rows */
    hr_animation *animation; /* `decode` only; NULL: none is open */
} hr_codec_request;

struct hr_codec {
    const char *name;    /* "png" */
    const char *library; /* "libpng"; for `doctor` */
    const char *(*version)(void);
    bool (*match)(const uint8_t *bytes, size_t size);
    hr_status (*header)(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error);
    /* Optional: fails for files that cannot be decoded. *pixels: an upper bound on the pixels in
     * the file. */
    hr_status (*check)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error);
    hr_status (*decode)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error);
    /* Optional: the same rows a few at a time, from top to bottom; `request`'s dst and stride are
     * ignored. The reader is allocated from c->arena. If either returns HR_STATUS_NOT_FUSABLE, use
     * decode, which also reports errors. */
    hr_status (*open)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                      const hr_codec_request *request, hr_op_call *c, void **reader,
                      hr_error *error);
    hr_status (*read)(void *reader, void *dst, size_t stride, int32_t rows, hr_error *error);
    /* Optional: prepares the window for decoding on a device, to rows that are turned as requested
     * (request's dst is ignored). `lasting` keeps memory until that is done. HR_STATUS_NOT_FUSABLE:
     * use decode. */
    hr_status (*stage)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_op_call *c, hr_staging *staging,
                       hr_arena *lasting, struct hr_coded *out, hr_error *error);
    /* Optional: the file is an animation, and its pages are the frames. `frame` draws the next one;
     * *rgba: dense rows of the whole image, valid until the next call. It keeps no memory of
     * an arena. */
    hr_status (*animate)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         hr_op_call *c, void **state, hr_error *error);
    hr_status (*frame)(void *state, const uint8_t **rgba, hr_error *error);
    void (*still)(void *state); /* frees it; NULL if all of it is in c->arena */
    bool paged;                 /* can decode other pages than the first */
    bool grey;                  /* can decode its luma plane alone when asked for one channel */
    int32_t luma_bits; /* otherwise: fraction bits of the weights that convert colours to grey, 14
                          to 16. DALI's readers differ in this, by 1 in one pixel of some hundred */
};

/* NULL-terminated; written by the build from the files in src/codecs. */
extern const hr_codec *const hr_codecs[];

/* Reads only the header; the file may still be undecodable. Checks `max_pixels`. */
hr_status hr_image_peek(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                        hr_error *error);
/* The same for another page than the first, from 0. */
hr_status hr_image_peek_page(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                             hr_image_info *info, hr_error *error);
/* Also fails if the file cannot be decoded, or is too short for its image by more than
 * HR_IMAGE_SLACK pixels, before memory is allocated for it. */
hr_status hr_image_probe(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                         hr_error *error);
hr_status hr_image_probe_page(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                              hr_image_info *info, hr_error *error);
/* For codecs, in `header`: fails if info->page is not one of the file's pages. */
hr_status hr_image_set_pages(hr_image_info *info, int32_t pages, int32_t others, hr_error *error);
/* Warns, if the file has images that are left out. `advice`: what the user can do, or "". */
hr_status hr_image_warn_others(const hr_image_info *info, const char *advice, hr_task *task,
                               hr_error *error);
/* Whether decoding may take `bytes` of memory for a file of `size` bytes: HR_IMAGE_MEMORY. */
hr_status hr_image_affordable(size_t bytes, size_t size, hr_error *error);
/* Counts `bytes` that a library takes to decode the file; hr_arena_uncount gives them back. Fails
 * if they are not affordable, or over the limit of the arena. */
hr_status hr_image_count(hr_arena *arena, size_t bytes, size_t size, hr_error *error);
hr_turn hr_image_turn(const hr_image_info *info, bool adjust_orientation);
/* Where the pixels of a request to `stage` go; they have `pixel` bytes each. */
hr_steps hr_image_steps(const hr_codec_request *request, int64_t pixel);
/* Height and width as delivered: after orientation if `adjust_orientation`. */
void hr_image_extent(const hr_image_info *info, bool adjust_orientation, int64_t *height,
                     int64_t *width);
/* Channels delivered for a type: 3 for RGB, BGR, YCBCR; 1 for GRAY; the file's for ANY_DATA. */
int32_t hr_image_type_channels(const hr_image_info *info, hr_image_type type);
/* The type that keeps what the file holds: UINT8, UINT16 or FLOAT. */
hr_dtype hr_image_own_dtype(const hr_image_info *info);
/* Whether images can be decoded to elements of this type. */
bool hr_image_dtype_ok(hr_dtype dtype);

typedef struct hr_decode_request {
    hr_window window; /* of the delivered (turned) image; inside it */
    hr_image_type type;
    hr_dtype dtype; /* UINT8, INT8, UINT16, INT16, INT32, FLOAT */
    bool adjust_orientation;
    void *dst;
    size_t stride;           /* bytes */
    hr_animation *animation; /* NULL, or open for this file: makes decoding pages in order cheap */
} hr_decode_request;

/* Decodes the window into dst. Scratch memory comes from c->arena and is returned; warnings about
 * damage go to c->task. */
hr_status hr_image_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                          const hr_decode_request *request, hr_op_call *c, hr_error *error);

/* The same a few rows at a time, if the codec supports it and the orientation needs at most a
 * horizontal flip; otherwise HR_STATUS_NOT_FUSABLE, also from hr_image_read. The reader is
 * allocated from c->arena. */
typedef struct hr_image_reader hr_image_reader;
hr_status hr_image_open(const uint8_t *bytes, size_t size, hr_image_info *info,
                        const hr_decode_request *request, hr_op_call *c, hr_image_reader **out,
                        hr_error *error);
hr_status hr_image_read(hr_image_reader *reader, void *dst, size_t stride, int32_t rows,
                        hr_error *error);
/* Prepares the window for decoding to dense rows on a device, if the codec supports it and pixels
 * need no conversion; otherwise HR_STATUS_NOT_FUSABLE. */
hr_status hr_image_stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_decode_request *request, hr_op_call *c, hr_staging *staging,
                         hr_arena *lasting, struct hr_coded *out, hr_error *error);

/* ---- animations ---- */

bool hr_image_animated(const hr_image_info *info);
/* Allocated from c->arena, and to be closed before that is restored. */
hr_status hr_animation_open(const uint8_t *bytes, size_t size, const hr_image_info *info,
                            hr_op_call *c, hr_animation **out, hr_error *error);
void hr_animation_close(hr_animation *animation);
/* For codecs, as `decode`: the page is drawn by way of all pages before it that request->animation
 * has not drawn yet. */
hr_status hr_animation_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                              const hr_codec_request *request, hr_op_call *c, hr_error *error);
