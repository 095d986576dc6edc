/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cutting scans into segments for a device. */
#pragma once

#include "codecs/jpeg/device.h"
#include "codecs/jpeg/index.h"
#include "codecs/jpeg/markers.h"

/* The state of cutting. */
typedef struct hr_jpeg_cutter {
    const hr_jpeg_markers *m;
    const uint8_t *bytes, *scan, *end; /* the file, its (first) scan */
    hr_jpeg_device_image *out;
    hr_jpeg_device_segment *segment; /* the next one: filled before it is added */
    int32_t row_end; /* the MCU after the row that contains the next chunk's first */
    uint32_t blocks; /* in an MCU */
    int32_t needed;  /* MCUs from the scan's start to the window's last */
} hr_jpeg_cutter;

/* Adds the next segment, of at most these bytes, as `subs` subsequences. False if there are none,
 * or too many. */
bool hr__jpeg_cut_add(hr_jpeg_cutter *s, const uint8_t *from, const uint8_t *to, uint32_t subs);
/* The first byte of the next marker. NULL if there is no marker, or if fill bytes precede a stuffed
 * zero. */
const uint8_t *hr__jpeg_cut_marker(const uint8_t *at, const uint8_t *end, int *marker);

/* A progressive file: reads the headers of all scans from the first one on, and cuts the scans up
 * to the window's last row. Allocates the segments, and one more. HR_STATUS_NOT_FUSABLE: as
 * hr_jpeg_device_prepare. */
hr_status hr__jpeg_cut_passes(hr_jpeg_cutter *s, hr_jpeg_markers *m, const hr_jpeg_index *index,
                              hr_staging *staging, hr_staged *segments, hr_error *error);
