/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the image decoders share: their common arguments, the header of the sample, and the coded
 * picture as the source of an image program. */
#ifndef HR_OPS_DECODERS_DECODE_H
#define HR_OPS_DECODERS_DECODE_H

#include "codecs/codec.h"
#include "image/program.h"

typedef struct hr_decode_args {
    int32_t output_type, dtype, adjust_orientation;
} hr_decode_args;

#define HR_DECODE_ARG(S, field, id, kind, deflt, text)                                             \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .offset = offsetof(S, field.id),                  \
        .size = sizeof(((S *)0)->field.id), .def = (deflt), .doc = (text)                          \
    }

/* Describes the hr_decode_args called `field` in the args struct S, and the tuning arguments of
 * device decoders. */
#define HR_DECODE_ARG_DEFS(S, field)                                                               \
    HR_DECODE_ARG(S, field, output_type, IMAGE_TYPE, "RGB",                                        \
                  "Colour space of the output: RGB, BGR or YCbCr (3 channels), GRAY (1), or "      \
                  "ANY_DATA (the channels of the file)."),                                         \
        HR_DECODE_ARG(S, field, dtype, DTYPE, "UINT8",                                             \
                      "Type of the output: UINT8, INT8, UINT16, INT16, INT32 span their positive " \
                      "range, FLOAT is 0 to 1."),                                                  \
        HR_DECODE_ARG(S, field, adjust_orientation, BOOL, "True",                                  \
                      "Turn the picture as its EXIF orientation says; windows are then in the "    \
                      "turned picture."),                                                          \
        HR_ARG_ACCEPT(affine, BOOL, "True", "Concerns threads of device decoders; no effect."),    \
        HR_ARG_ACCEPT(device_memory_padding, INT, "16777216",                                      \
                      "Bytes set aside by device decoders; no effect on the CPU."),                \
        HR_ARG_ACCEPT(device_memory_padding_jpeg2k, INT, "0",                                      \
                      "Bytes set aside by device decoders; no effect on the CPU."),                \
        HR_ARG_ACCEPT(host_memory_padding, INT, "8388608",                                         \
                      "Bytes set aside by device decoders; no effect on the CPU."),                \
        HR_ARG_ACCEPT(host_memory_padding_jpeg2k, INT, "0",                                        \
                      "Bytes set aside by device decoders; no effect on the CPU."),                \
        HR_ARG_ACCEPT(hw_decoder_load, FLOAT, "0.65",                                              \
                      "Share of a batch for a hardware decoder; no effect."),                      \
        HR_ARG_ACCEPT(hybrid_huffman_threshold, INT64, "1000000",                                  \
                      "Pixels from which device decoders change their method; no effect."),        \
        HR_ARG_ACCEPT(jpeg_fancy_upsampling, BOOL, "False",                                        \
                      "Chroma is always upsampled with the triangle filter; no effect."),          \
        HR_ARG_ACCEPT(preallocate_height_hint, INT, "0",                                           \
                      "Height to set memory aside for on devices; no effect on the CPU."),         \
        HR_ARG_ACCEPT(preallocate_width_hint, INT, "0",                                            \
                      "Width to set memory aside for on devices; no effect on the CPU."),          \
        HR_ARG_ACCEPT(use_fast_idct, BOOL, "False",                                                \
                      "The exact transform is always used: it is no slower here. No effect."),     \
        HR_ARG_GONE(memory_stats, BOOL, "False", "1.36"),                                          \
        HR_ARG_GONE(split_stages, BOOL, "False", "1.0"),                                           \
        HR_ARG_GONE(use_chunk_allocator, BOOL, "False", "1.0")

/* A coded picture whose header was read. Lives in the arena. */
typedef struct hr_decode_picture {
    const uint8_t *bytes;
    size_t size;
    hr_image_info info;
    hr_image_type type;
    hr_dtype dtype;
    bool adjust_orientation;
    int64_t height, width;   /* as delivered */
    hr_image_reader *reader; /* of its rows, while they are read */
} hr_decode_picture;

/* Checks the input, which is the whole file as a 1-D UINT8 tensor, and reads the header. */
hr_status hr__decode_peek(hr_op_call *c, const hr_decode_args *args, hr_decode_picture **out,
                          hr_error *error);
/* Also fails where the file cannot be decoded. */
hr_status hr__decode_open(hr_op_call *c, const hr_decode_args *args, hr_decode_picture **out,
                          hr_error *error);
/* Starts a program with a window of the picture. */
hr_status hr__decode_program(hr_image_program *program, hr_decode_picture *picture,
                             hr_window window, hr_error *error);

#endif
