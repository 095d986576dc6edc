/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg/segment.h"

#include "codecs/bytes.h"
#include "codecs/jpeg/codes.h"

#include <string.h>

/* The next marker at or behind *at, which is moved behind it. */
static int next_marker(const uint8_t *bytes, size_t size, size_t *at)
{
    while (*at + 1 < size) {
        const uint8_t *found = memchr(bytes + *at, 0xFF, size - 1 - *at);
        if (!found)
            break;
        *at = (size_t)(found - bytes) + 1;
        if (found[1] != 0 && found[1] != 0xFF) {
            (*at)++;
            return found[1];
        }
    }
    return HR_JPEG_SEGMENT_NONE;
}

static bool is_restart(int marker)
{
    return marker >= MARKER_RST0 && marker < MARKER_SOI;
}

hr_jpeg_segment hr_jpeg_segment_next(const uint8_t *bytes, size_t size, size_t *at)
{
    hr_jpeg_segment s = {.marker = HR_JPEG_SEGMENT_NONE};
    int marker;
    do
        marker = next_marker(bytes, size, at);
    while (marker == MARKER_TEM || marker == MARKER_SOI || is_restart(marker));
    if (marker == HR_JPEG_SEGMENT_NONE || marker == MARKER_EOI) {
        s.marker = marker;
        return s;
    }
    if (size - *at < 2)
        return s;
    size_t length = hr_get_be16(bytes + *at);
    if (length < 2) {
        s.marker = HR_JPEG_SEGMENT_BAD;
    } else if (length <= size - *at) {
        s = (hr_jpeg_segment){marker, bytes + *at + 2, length - 2};
        *at += length;
    }
    return s;
}

size_t hr_jpeg_segment_scan_end(const uint8_t *bytes, size_t size, size_t at)
{
    int marker;
    do
        marker = next_marker(bytes, size, &at);
    while (is_restart(marker));
    return marker == HR_JPEG_SEGMENT_NONE ? size : at - 2;
}

bool hr_jpeg_segment_is_frame(int marker)
{
    return marker >= MARKER_SOF0 && marker <= MARKER_SOF15 && marker != MARKER_DHT &&
           marker != MARKER_JPG && marker != MARKER_DAC;
}
