/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The bytes of a scan: stuffing taken out, cut at restart markers, and whether they were enough. */
#ifndef HR_CODECS_JPEG_INPUT_H
#define HR_CODECS_JPEG_INPUT_H

#include "core/core.h"
#include "kernels/jpeg.h"

typedef struct hr_jpeg_input {
    const uint8_t *next, *end; /* of the file, behind the segment that is open */
    uint8_t *segment;          /* the open one, without stuffing */
    int marker;                /* behind it; 0: the file ends there */
    int32_t restart;           /* MCUs in a segment, 0: one segment */
    int32_t left;              /* of them */
    int restarts;              /* markers passed */
} hr_jpeg_input;

/* Opens the first segment; memory from the arena. */
hr_status hr_jpeg_input_open(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *bytes,
                             size_t size, int32_t restart, hr_arena *arena, hr_error *error);
/* How many of the next `mcus` MCUs lie in one segment, which it opens when the last one is used up;
 * 0 when there is damage. */
int32_t hr_jpeg_input_run(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcus);
/* Did all that was decoded come from the file? */
bool hr_jpeg_input_whole(const hr_jpeg_input *in, const hr_jpeg_scan *scan);

#endif
