/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Parts of the demuxer for MP4 and QuickTime files (ISO/IEC 14496-12). */
#pragma once

#include "codecs/video/demux/demuxer.h"
#include "codecs/video/demux/mp4_box.h"

typedef struct hr_mp4_edit {
    int64_t start;    /* in presentation, in units of the track */
    int64_t media;    /* the time of the track that is shown then */
    int64_t duration; /* in units of the track; INT64_MAX: to the end */
} hr_mp4_edit;

typedef struct hr_mp4_track {
    uint32_t id;
    int64_t time_scale;                                         /* of the track: units per second */
    hr_mp4_span stts, ctts, stss, stsc, stsz, stz2, stco, co64; /* contents of the boxes */
    /* of fragments (trex) */
    uint32_t default_description, default_duration, default_size, default_flags;
    hr_mp4_span stsd;     /* the sample descriptions: */
    uint32_t description; /* number of that of the first packet, from 1; 0: the first known one */
    uint32_t alike;       /* a bit for each of the first that says the same as that */
    int32_t changes;      /* of `description` before the first packet */
    hr_mp4_span elst;
    uint32_t movie_scale; /* the unit of durations in `elst` */
    bool fragmented;
} hr_mp4_track;

/* Takes codec, size, and what decoders need from the sample description with this number; from the
 * first that is known if there is none with it. `*name`: the four letters of a coding that is not
 * known. */
hr_status hr_mp4_describe(hr_demux *d, hr_mp4_track *t, uint32_t number, uint32_t *name,
                          hr_error *error);
/* The samples that follow have this description. Fails if it says anything else than that of the
 * packets so far. */
hr_status hr_mp4_use_description(hr_demux *d, hr_mp4_track *t, uint32_t number, hr_error *error);
/* Adds the packets of the tables; `*time`: where they end. */
hr_status hr_mp4_add_samples(hr_demux *d, hr_mp4_track *t, int64_t *time, hr_error *error);
/* Adds the packets of all fragments, from the box at `offset` on. */
hr_status hr_mp4_add_fragments(hr_demux *d, hr_mp4_track *t, int64_t offset, int64_t time,
                               hr_error *error);
/* Applies the edit list to the times of all packets. */
hr_status hr_mp4_edit_times(hr_demux *d, const hr_mp4_track *t, hr_error *error);
