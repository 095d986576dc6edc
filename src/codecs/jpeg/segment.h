/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A tolerant walk over the marker segments of a JPEG file, as libjpeg makes it: bytes between
 * segments that are not a marker are skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_JPEG_SEGMENT_NONE = -1, HR_JPEG_SEGMENT_BAD = -2 };

typedef struct hr_jpeg_segment {
    int marker;          /* its second byte; _NONE: the file ends; _BAD: a length below 2 */
    const uint8_t *data; /* behind the length */
    size_t size;
} hr_jpeg_segment;

/* The next segment at or behind *at, which is moved behind it. Markers without a length are
 * skipped, except EOI. */
hr_jpeg_segment hr_jpeg_segment_next(const uint8_t *bytes, size_t size, size_t *at);
/* Where the entropy-coded segments end that begin at `at`: at the next marker other than RSTn, or
 * at the end of the file. */
size_t hr_jpeg_segment_scan_end(const uint8_t *bytes, size_t size, size_t at);
/* Whether the marker begins a frame (SOFn). */
bool hr_jpeg_segment_is_frame(int marker);
