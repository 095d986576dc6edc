/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of libheadrace_video.so, which needs libavcodec and libavutil: one exported
 * function, hr_video_module. The module links none of our libraries, starts no threads and prints
 * nothing. A decoder belongs to one thread at a time. */
#ifndef HR_CODECS_VIDEO_MODULE_H
#define HR_CODECS_VIDEO_MODULE_H

#include "headrace/headrace.h"

enum { HR_VIDEO_ABI_VERSION = 1 };

typedef struct hr_video_stream {
    int32_t codec;        /* hr_video_codec */
    const uint8_t *extra; /* what the decoder needs first: avcC, hvcC, av1C, ... */
    size_t extra_size;
    int32_t width, height; /* a hint; 0: unknown */
    int64_t max_pixels;    /* of a frame; larger ones are refused before they get memory */
} hr_video_stream;

typedef enum hr_video_colors {
    HR_VIDEO_COLORS_YUV, /* luma, chroma, chroma */
    HR_VIDEO_COLORS_GRAY,
    HR_VIDEO_COLORS_GBR
} hr_video_colors;

typedef struct hr_video_picture {
    int64_t id;              /* of the packet that the picture is of */
    const uint8_t *plane[3]; /* uint16_t if there are more than 8 bits */
    int64_t stride[3];       /* in bytes */
    int32_t width, height;
    int32_t bits;             /* 8 to 16 */
    int32_t shift_x, shift_y; /* chroma has width >> shift_x columns, rounded up */
    hr_video_colors colors;
    bool full_range;
    bool damaged; /* what is missing was made up */
} hr_video_picture;

typedef enum hr_video_result {
    HR_VIDEO_RESULT_FAILED,  /* the decoder cannot be used any more, except by `close` */
    HR_VIDEO_RESULT_PICTURE, /* of `receive` */
    HR_VIDEO_RESULT_MORE,    /* of `send`: done. Of `receive`: the next packet is needed */
    HR_VIDEO_RESULT_END      /* of `receive`, after the last packet: there is no other picture */
} hr_video_result;

enum { HR_VIDEO_MESSAGE = 160 }; /* characters of a message that says why something failed */

typedef struct hr_video_module_def {
    uint32_t abi;         /* HR_VIDEO_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_video_module_def) when the module was compiled */
    const char *(*version)(void);
    /* NULL: the message says why. */
    void *(*open)(const hr_video_stream *stream, char message[HR_VIDEO_MESSAGE]);
    /* A packet, which HR_VIDEO_PAD zero bytes follow; `bytes` NULL: there is no other, so that
     * `receive` gives what is left. All pictures must have been received before. */
    hr_video_result (*send)(void *decoder, const uint8_t *bytes, size_t size, int64_t id,
                            char message[HR_VIDEO_MESSAGE]);
    /* Pixels of a frame, as the last packet says; 0: not known. */
    int64_t (*pixels)(const void *decoder);
    /* The picture is valid until the next call. */
    hr_video_result (*receive)(void *decoder, hr_video_picture *picture,
                               char message[HR_VIDEO_MESSAGE]);
    /* Forgets all pictures: the next packet is a key packet. */
    void (*flush)(void *decoder, int64_t max_pixels);
    void (*close)(void *decoder);
} hr_video_module_def;

typedef const hr_video_module_def *(*hr_video_module_fn)(void);
HR_API const hr_video_module_def *hr_video_module(void);

#endif
