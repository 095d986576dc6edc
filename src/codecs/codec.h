/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Coded pictures. A codec is one file with one table (`const hr_codec hr_codec_png` in png.c); the
 * build makes the registry from the file names. decode.c contains what all codecs share:
 * orientation, colour conversion, type conversion, limits. */
#ifndef HR_CODECS_CODEC_H
#define HR_CODECS_CODEC_H

#include "core/core.h"
#include "headrace/operator.h"
#include "image/program.h"

typedef struct hr_codec hr_codec;

/* Pixels that a picture may lack without being refused before it is decoded: damaged files of usual
 * sizes are left to the decoders. */
#define HR_IMAGE_SLACK ((int64_t)1 << 24)

/* What the header says. */
typedef struct hr_image_info {
    const hr_codec *codec;
    int32_t height, width; /* as stored, before orientation */
    int32_t channels;      /* in the file: 1 grey, 2 grey + alpha, 3 colour, 4 colour + alpha (CMYK
                              counts as 3) */
    int32_t bits;          /* per element: 8 or 16 */
    int32_t orientation;   /* EXIF, 1 .. 8 */
    bool refused;          /* `open` or `read` gave the file up: `decode` need not try the same */
} hr_image_info;

/* A request to a codec: a window of the stored picture. */
typedef struct hr_codec_request {
    hr_window window;
    /* 1 (grey files, or a codec with `grey`), 3 (any file: grey is repeated, alpha dropped) or
     * info.channels. */
    int32_t channels;
    void *dst;     /* u8, or u16 when info.bits is 16 */
    size_t stride; /* bytes between rows */
} hr_codec_request;

struct hr_codec {
    const char *name;    /* "png" */
    const char *library; /* "libpng"; for `doctor` */
    const char *(*version)(void);
    bool (*match)(const uint8_t *bytes, size_t size);
    hr_status (*header)(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error);
    /* Optional: fails for what cannot be decoded. *pixels: the most that the file can hold. */
    hr_status (*check)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error);
    hr_status (*decode)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error);
    /* Optional: the same rows a few at a time, top to bottom; `request`'s dst and stride mean
     * nothing. The reader lives in c->arena. HR_STATUS_NOT_FUSABLE from either: use decode, which
     * also says what is wrong. */
    hr_status (*open)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                      const hr_codec_request *request, hr_op_call *c, void **reader,
                      hr_error *error);
    hr_status (*read)(void *reader, void *dst, size_t stride, int32_t rows, hr_error *error);
    /* Optional: makes the window ready for a device (request's dst means nothing).
     * HR_STATUS_NOT_FUSABLE: use decode. */
    hr_status (*stage)(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_op_call *c, hr_staging *staging,
                       struct hr_jpeg_device_picture *out, hr_error *error);
    bool grey;         /* gives its own luma plane when asked for one channel */
    int32_t luma_bits; /* otherwise: fraction bits of the weights that make grey from its colours,
                          14 or 15; DALI's readers differ in this, by 1 in some hundred pixels */
};

/* NULL-terminated; written by the build from the files in src/codecs. */
extern const hr_codec *const hr_codecs[];

/* The header only, which may be that of a file that cannot be decoded. Checks `max_pixels`. */
hr_status hr_image_peek(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                        hr_error *error);
/* Also fails where the file cannot be decoded, or is too short for its picture by more than
 * HR_IMAGE_SLACK: before memory is taken for it. */
hr_status hr_image_probe(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                         hr_error *error);
/* Height and width as delivered: turned when `adjust_orientation`. */
void hr_image_extent(const hr_image_info *info, bool adjust_orientation, int64_t *height,
                     int64_t *width);
/* Channels delivered for a wanted type: RGB, BGR, YCBCR 3; GRAY 1; ANY_DATA the file's. */
int32_t hr_image_type_channels(const hr_image_info *info, hr_image_type type);
/* Whether pictures can be decoded to elements of this type. */
bool hr_image_dtype_ok(hr_dtype dtype);

typedef struct hr_decode_request {
    hr_window window; /* of the delivered (turned) picture; inside it */
    hr_image_type type;
    hr_dtype dtype; /* UINT8, INT8, UINT16, INT16, INT32, FLOAT */
    bool adjust_orientation;
    void *dst;
    size_t stride; /* bytes */
} hr_decode_request;

/* Uses c->arena for scratch (given back on return), c->task for remarks about damage. */
hr_status hr_image_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                          const hr_decode_request *request, hr_op_call *c, hr_error *error);

/* The same a few rows at a time, where the codec can and rows need no turning by more than left and
 * right; else HR_STATUS_NOT_FUSABLE, which hr_image_read may answer too. The reader lives in
 * c->arena. */
typedef struct hr_image_reader hr_image_reader;
hr_status hr_image_open(const uint8_t *bytes, size_t size, hr_image_info *info,
                        const hr_decode_request *request, hr_op_call *c, hr_image_reader **out,
                        hr_error *error);
hr_status hr_image_read(hr_image_reader *reader, void *dst, size_t stride, int32_t rows,
                        hr_error *error);
/* Makes the window ready for a device, which will deliver dense rows, where the codec can and rows
 * need no conversion and no turning; else HR_STATUS_NOT_FUSABLE. */
hr_status hr_image_stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_decode_request *request, hr_op_call *c, hr_staging *staging,
                         struct hr_jpeg_device_picture *out, hr_error *error);

#endif
