/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The entropy-coded data of a scan: unstuffed piece by piece, split at restart markers, entered at
 * any entry of an index. */
#pragma once

#include "codecs/jpeg/index.h"
#include "core/core.h"
#include "kernels/jpeg.h"

enum {
    /* bytes: libjpeg warns if it reaches the end of the file while reading ahead */
    HR_JPEG_READ_AHEAD = 64,
    /* in place of a marker: */
    HR_JPEG_DISGUISED = -1, /* FF FF 00: fill bytes before a stuffed zero */
    HR_JPEG_CUT = -2        /* the piece ends inside its segment */
};

/* A piece is an unstuffed entropy-coded segment, or a part of one. */
typedef struct hr_jpeg_input {
    const uint8_t *bytes, *end; /* first byte of the scan; end of the file */
    uint8_t *piece;
    const uint8_t *next; /* in the file, after the piece and its marker; NULL: no piece is open */
    int marker;          /* after the piece; 0: the file ends; < 0: see above */
    int32_t restart;     /* restart interval in MCUs; 0: none */
    int32_t left;        /* MCUs left in the segment */
    /* Map positions in the piece to the file: where the piece begins in the file, before which of
     * its bytes a stuffed zero was removed, and how many of these precede the last entry. */
    const uint8_t *first;
    uint32_t *removed;
    size_t removals, room, passed;
    hr_jpeg_index *index;
    int32_t entry;      /* found by the last search, where the next one begins */
    hr_jpeg_index none; /* used where the caller has no index */
    hr_jpeg_entry start;
} hr_jpeg_input;

/* Opens no segment yet. Memory comes from the arena. Decoding adds entries to `index` (or NULL)
 * until it is full. */
hr_status hr_jpeg_input_open(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *bytes,
                             size_t size, int32_t restart, hr_jpeg_index *index, hr_arena *arena,
                             hr_error *error);
/* Moves the scan to the last entry at or before MCU `mcu`, unless it is nearer already, and makes
 * the data of MCUs up to `end` (exclusive) available. Returns the number of MCUs left to skip. */
int32_t hr_jpeg_input_seek(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcu, int32_t end);
/* The number of the next `mcus` MCUs that are in the current segment; opens the next segment if the
 * current one is used up. 0: damage. */
int32_t hr_jpeg_input_run(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcus);
/* Adds the marks of the last run to the index. Call it after each run. */
void hr_jpeg_input_note(hr_jpeg_input *in, hr_jpeg_scan *scan);
/* The marker behind a scan that was decoded to its end; NULL if data is left over or missing. */
const uint8_t *hr_jpeg_input_end(const hr_jpeg_input *in, const hr_jpeg_scan *scan);
/* Whether everything that was decoded came from the file. */
bool hr_jpeg_input_whole(const hr_jpeg_input *in, const hr_jpeg_scan *scan);
