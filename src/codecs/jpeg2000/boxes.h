/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JPEG 2000 file: a codestream, alone or in the boxes of the JP2 format, which say what its
 * components mean. */
#pragma once

#include "codecs/jpeg2000/codestream.h"

typedef enum hr_jpeg2000_colours {
    HR_JPEG2000_COLOURS_ANY, /* not stated, or a profile: grey or RGB, by the number of channels */
    HR_JPEG2000_COLOURS_GREY,
    HR_JPEG2000_COLOURS_SYCC,
    HR_JPEG2000_COLOURS_UNSUPPORTED
} hr_jpeg2000_colours;

typedef struct hr_jpeg2000 {
    const uint8_t *stream;
    size_t stream_size;
    hr_jpeg2000_siz siz;
    hr_jpeg2000_colours colours;
    uint32_t colour_space;                    /* its number in the file, for messages */
    uint32_t count;                           /* channels */
    uint8_t channels[HR_JPEG2000_COMPONENTS]; /* their components, or columns of the palette */
    const uint8_t *palette;                   /* rows of bytes or big-endian words; NULL: none */
    uint32_t entries, columns, entry_bits;    /* of the palette */
    uint32_t index;                           /* the component that chooses the entry */
} hr_jpeg2000;

bool hr_jpeg2000_match(const uint8_t *bytes, size_t size);
hr_status hr_jpeg2000_read(const uint8_t *bytes, size_t size, hr_jpeg2000 *file, hr_error *error);
/* An element of the palette. */
uint32_t hr_jpeg2000_colour(const hr_jpeg2000 *file, uint32_t entry, uint32_t column);
