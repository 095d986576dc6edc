/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of the image decoders: arguments, the header of the sample, the encoded image as
 * the source of an image program, and all pages of a file as frames. */
#pragma once

#include "codecs/codec.h"
#include "image/program.h"

/* The first member of the args struct of each decoder. */
typedef struct hr_decode_args {
    int32_t output_type, dtype, adjust_orientation;
    int32_t page; /* -1: not given, so the first */
    int32_t all_pages;
} hr_decode_args;

#define HR_DECODE_ARG(S, field, id, kind, deflt, ...)                                              \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .offset = offsetof(S, field.id),                  \
        .size = sizeof(((S *)0)->field.id), .def = (deflt), .doc = __VA_ARGS__                     \
    }
#define HR_PAGE_ARG_DEFS(S, field)                                                                 \
    HR_DECODE_ARG(S, field, page, INT, NULL,                                                       \
                  "Page of a TIFF file, or frame of a GIF or WebP animation, from 0. Without it, " \
                  "the first one is taken, with a warning if the file has others; `strict=True` "  \
                  "of the pipeline turns this warning into an error. The frames of a PNG "         \
                  "animation and the images of a PNM file count as pages, of which only the "      \
                  "first can be decoded.",                                                         \
                  .flags = HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, .min = 0, .max = INT32_MAX,        \
                  .excludes = "all_pages"),                                                        \
        HR_DECODE_ARG(S, field, all_pages, BOOL, "False",                                          \
                      "Take all pages, which must have the same size and channels. The output "    \
                      "has one more dimension, the frames: FHWC. On the CPU only.")

/* Describes the hr_decode_args called `field` in the args struct S, and the tuning arguments of
 * device decoders. */
#define HR_DECODE_ARG_DEFS(S, field)                                                               \
    HR_DECODE_ARG(S, field, output_type, IMAGE_TYPE, "RGB",                                        \
                  "Colour space of the output: RGB, BGR or YCbCr (3 channels), GRAY (1), or "      \
                  "ANY_DATA (the channels of the file)."),                                         \
        HR_DECODE_ARG(                                                                             \
            S, field, dtype, DTYPE, "UINT8",                                                       \
            "Type of the output: UINT8, INT8, UINT16, INT16 or INT32 (pixels use the "             \
            "whole positive range), or FLOAT (0 to 1). Not in DALI: ANY keeps the depth "          \
            "of the file, as UINT8, UINT16 or FLOAT.",                                             \
            .flags = HR_ARG_ANY_TYPE),                                                             \
        HR_DECODE_ARG(S, field, adjust_orientation, BOOL, "True",                                  \
                      "Apply the EXIF orientation. Windows then refer to the turned image."),      \
        HR_PAGE_ARG_DEFS(S, field),                                                                \
        HR_ARG_ACCEPT(affine, BOOL, "True", "No effect: it concerns threads of other decoders."),  \
        HR_ARG_ACCEPT(device_memory_padding, INT, "16777216",                                      \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(device_memory_padding_jpeg2k, INT, "0",                                      \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(host_memory_padding, INT, "8388608",                                         \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(host_memory_padding_jpeg2k, INT, "0",                                        \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(hw_decoder_load, FLOAT, "0.65",                                              \
                      "No effect: hardware decoders are not used."),                               \
        HR_ARG_ACCEPT(hybrid_huffman_threshold, INT64, "1000000",                                  \
                      "No effect: all sizes are decoded in the same way."),                        \
        HR_ARG_ACCEPT(jpeg_fancy_upsampling, BOOL, "False",                                        \
                      "No effect: chroma is always upsampled with the triangle filter."),          \
        HR_ARG_ACCEPT(preallocate_height_hint, INT, "0",                                           \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(preallocate_width_hint, INT, "0",                                            \
                      "No effect: memory is allocated as needed."),                                \
        HR_ARG_ACCEPT(use_fast_idct, BOOL, "False",                                                \
                      "No effect: the exact transform is always used, and it is not slower."),     \
        HR_ARG_GONE(memory_stats, BOOL, "False", "1.36"),                                          \
        HR_ARG_GONE(split_stages, BOOL, "False", "1.0"),                                           \
        HR_ARG_GONE(use_chunk_allocator, BOOL, "False", "1.0")

/* An encoded image whose header has been read. Allocated from the arena. */
typedef struct hr_decode_image {
    const uint8_t *bytes;
    size_t size;
    hr_image_info info;
    hr_image_type type;
    hr_dtype dtype;
    bool adjust_orientation;
    int64_t height, width;   /* as delivered */
    hr_image_reader *reader; /* while its rows are read */
} hr_decode_image;

/* Checks the input, which is the whole file as a 1-D UINT8 tensor, and reads the header. */
hr_status hr__decode_peek(hr_op_call *c, const hr_decode_args *args, hr_decode_image **out,
                          hr_error *error);
/* Also fails where the file cannot be decoded. */
hr_status hr__decode_open(hr_op_call *c, const hr_decode_args *args, hr_decode_image **out,
                          hr_error *error);
/* The window of the image that an operator wants. */
typedef hr_status (*hr_decode_window_fn)(const hr_op_call *c, const hr_decode_image *image,
                                         hr_window *window, hr_error *error);
/* Starts a program with the window. With `all_pages`, HR_STATUS_NOT_FUSABLE: the operator's `infer`
 * and `run` are then the other two. */
hr_status hr__decode_lower(hr_op_call *c, hr_decode_window_fn window, hr_image_program *program,
                           hr_error *error);
hr_status hr__pages_infer(hr_op_call *c, hr_decode_window_fn window, hr_error *error);
hr_status hr__pages_run(hr_op_call *c, hr_error *error);
