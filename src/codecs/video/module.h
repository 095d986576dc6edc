/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of decoders: of libheadrace_video.so, which needs libavcodec and libavutil and
 * exports one function, hr_video_module, and of the CUDA module, whose decoders are those of the
 * GPU (NVDEC). Modules link none of our libraries, start no threads and print nothing. A decoder
 * belongs to one thread at a time. */
#pragma once

#include "codecs/video/video.h"
#include "kernels/yuv.h"

enum { HR_VIDEO_ABI_VERSION = 3 };

typedef struct hr_video_stream {
    int32_t codec;        /* hr_video_codec */
    const uint8_t *extra; /* what the decoder needs first: avcC, hvcC, av1C, ... */
    size_t extra_size;
    int32_t width, height; /* a hint; 0: unknown */
    int64_t max_pixels;    /* of a frame; larger ones are refused before they get memory */
    int32_t device;        /* CUDA device of decoders that run on one */
} hr_video_stream;

typedef enum hr_video_colors {
    HR_VIDEO_COLORS_YUV, /* luma, chroma, chroma */
    HR_VIDEO_COLORS_GRAY,
    HR_VIDEO_COLORS_GBR
} hr_video_colors;

typedef struct hr_video_picture {
    int64_t id;              /* of the packet that the picture is of */
    const uint8_t *plane[3]; /* uint16_t if there are more than 8 bits; NULL: on a device */
    int64_t stride[3];       /* in bytes */
    int32_t width, height;
    int32_t bits;             /* 8 to 16 */
    int32_t shift_x, shift_y; /* chroma has width >> shift_x columns, rounded up */
    hr_video_colors colors;
    hr_video_signal signal;
    bool damaged; /* what is missing was made up */
} hr_video_picture;

/* How pixels are written. */
typedef struct hr_video_form {
    bool ycbcr; /* luma and chroma as they are stored, with 8 bits and chroma for every pixel */
    hr_yuv_colors colors; /* otherwise RGB */
    hr_yuv_place place;
} hr_video_form;

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
     * `receive` gives what is left. All pictures must have been received before. Pictures of
     * packets that are not `wanted` may be left out. */
    hr_video_result (*send)(void *decoder, const uint8_t *bytes, size_t size, int64_t id,
                            bool wanted, char message[HR_VIDEO_MESSAGE]);
    /* Pixels of a frame, as the last packet says; 0: not known. */
    int64_t (*pixels)(const void *decoder);
    /* The picture is valid until the next call. */
    hr_video_result (*receive)(void *decoder, hr_video_picture *picture,
                               char message[HR_VIDEO_MESSAGE]);
    /* Forgets all pictures: the next packet is a key packet. */
    void (*flush)(void *decoder, int64_t max_pixels);
    void (*close)(void *decoder);

    /* ---- decoders on a device; NULL for others ---- */
    /* The cudaStream_t of the decoder: memory that it writes is allocated in its order. */
    void *(*stream)(void *decoder);
    /* Queues writing the picture that was received last, as hr_video_pixels does, to memory of the
     * device. */
    bool (*store)(void *decoder, const hr_video_form *form, uint8_t *dst,
                  char message[HR_VIDEO_MESSAGE]);
    /* Queues writing pixels of one colour. */
    bool (*fill)(void *decoder, const uint8_t color[3], size_t pixels, uint8_t *dst,
                 char message[HR_VIDEO_MESSAGE]);
    bool (*finish)(void *decoder, char message[HR_VIDEO_MESSAGE]); /* waits for what was queued */
} hr_video_module_def;

typedef const hr_video_module_def *(*hr_video_module_fn)(void);
HR_API const hr_video_module_def *hr_video_module(void);
