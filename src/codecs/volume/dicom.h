/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DICOM files (Part 10): the data set up to the pixels, and the bytes of the frames. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_dicom_span {
    const uint8_t *p; /* NULL: there is none */
    size_t size;
} hr_dicom_span;

typedef enum hr_dicom_coding {
    HR_DICOM_CODING_NATIVE,
    HR_DICOM_CODING_RLE,
    HR_DICOM_CODING_JPEG,
    HR_DICOM_CODING_JPEG_LOSSLESS,
    HR_DICOM_CODING_JPEG2000
} hr_dicom_coding;

/* A number that several places may give. */
typedef struct hr_dicom_number {
    double value;
    bool given, differs;
} hr_dicom_number;

typedef struct hr_dicom {
    hr_dicom_coding coding;
    bool implicit; /* without types of values */
    char photometric[17];
    uint32_t samples, rows, columns, allocated, stored, high, is_signed, planar;
    int64_t frames;
    uint32_t floats; /* bits of values that are floats; 0: integers */
    hr_dicom_number slope, intercept;
    bool has_table; /* stored values become others by a table (Modality LUT) */
    uint16_t palette_first, palette_count, palette_bits;
    hr_dicom_span palette[3];
    hr_dicom_span pixels; /* of a native file; else items: */
    bool encapsulated;
    hr_dicom_span *frame; /* of an encapsulated file: the bytes of each */
} hr_dicom;

bool hr_dicom_match(const uint8_t *bytes, size_t size);
/* Reads the data set. */
hr_status hr_dicom_read(const uint8_t *bytes, size_t size, hr_dicom *out, hr_error *error);
/* Finds the frames of encapsulated pixels; memory is from the arena. */
hr_status hr_dicom_find_frames(hr_dicom *d, hr_arena *arena, hr_error *error);
