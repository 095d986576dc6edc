/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What slices of H.264 say about packets: which ones are the fields of one picture, and where a
 * refresh ends. */
#pragma once

#include "codecs/video/demux/demuxer.h"
#include "codecs/video/bits/units.h"

/* All zeros at first. */
typedef struct hr_fields {
    hr_units *units; /* has read the parameters; NULL: not used yet */
    int64_t read;    /* bytes so far, which are bounded by the size of the file */
} hr_fields;

/* *second: packet `i` is the second field of the picture of packet i - 1. */
hr_status hr__fields_check(hr_fields *f, hr_demux *d, int32_t i, bool *second, hr_error *error);
/* Sets REFRESH, REFRESHED and INTRA of the packets in front of `end`. */
hr_status hr__fields_find_refresh(hr_demux *d, int32_t end, hr_error *error);
void hr__fields_fini(hr_fields *f);
