/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The units behind the start codes of an elementary stream (H.264, HEVC, MPEG-4): where pictures
 * begin, which of them are keys, and in which order they are shown.
 *
 * The files of this folder know nothing of containers. All that is read goes through rbsp.h, which
 * never reads past the end. */
#pragma once

#include "codecs/video/video.h"

typedef enum hr_unit_kind {
    HR_UNIT_OTHER,  /* belongs to the picture before it */
    HR_UNIT_PREFIX, /* belongs to the picture that follows */
    HR_UNIT_SLICE,  /* another part of the current picture, or of one that cannot be read */
    HR_UNIT_PICTURE /* the first part of a picture */
} hr_unit_kind;

typedef struct hr_unit_picture {
    int64_t order; /* of presentation, since the last reset */
    bool reset;    /* all pictures before this one are shown before it and those that follow */
    bool between;  /* MPEG-4: is shown before the picture that was decoded last */
    int32_t flags; /* HR_VIDEO_PACKET_... */
} hr_unit_picture;

enum {
    HR_UNIT_SETS = 64,           /* of each kind of parameters */
    HR_UNIT_MOST_HEAD = 4096,    /* bytes of a unit that are looked at */
    HR_UNIT_SLICE_HEAD = 128,    /* bytes of a slice that are enough */
    HR_UNIT_MOST_EXTRA = 1 << 16 /* bytes of parameters that are kept */
};

/* Parameters of sequences and of pictures, as far as slices cannot be read without them. */
typedef struct hr_unit_sps {
    bool known, separate_planes;
    int32_t order_bits;
    /* of H.264: */
    bool frames_only, no_deltas;
    int32_t number_bits, order_type, not_reference, top_to_bottom, cycle;
    int32_t cycle_offsets[255];
} hr_unit_sps;

typedef struct hr_unit_pps {
    bool known,
        flag; /* H.264: slices have the difference of fields; HEVC: they have an output flag */
    uint8_t sps, extra_bits;
} hr_unit_pps;

/* The parts of a slice's header of H.264 that are the same in all slices of a picture. */
typedef struct hr_unit_slice {
    uint32_t pps, number, idr_id, order_low;
    int32_t delta[2], delta_bottom;
    bool idr, reference, field, bottom, intra;
} hr_unit_slice;

/* H.264: a point where decoding can begin (recovery point). */
typedef struct hr_unit_recovery {
    bool known;
    bool exact;     /* not only nearly the same pictures */
    uint32_t count; /* numbers of pictures until then */
} hr_unit_recovery;

typedef struct hr_units {
    hr_video_codec codec;
    hr_unit_picture picture; /* of the last HR_UNIT_PICTURE */
    bool begun;              /* there was one */
    bool preset;             /* the first parameters were known before */
    int64_t seen, odd;       /* units so far, and those that the codec does not have */
    int32_t width, height;   /* of the first parameters; 0: unknown */
    uint32_t rate_num, rate_den;
    uint8_t *extra; /* parameters in front of the first picture, with start codes */
    size_t extra_size;
    /* of h264.c and hevc.c: */
    hr_unit_sps sps[HR_UNIT_SETS];
    hr_unit_pps pps[256];
    hr_unit_slice slice;
    hr_unit_recovery recovery; /* of the picture that follows */
    bool refreshing;           /* H.264: pictures are exact from this number on: */
    uint32_t refreshed;
    bool ended;              /* HEVC: the picture that follows begins a sequence */
    int32_t layers;          /* HEVC: temporal layers of the pictures so far */
    bool dropped;            /* HEVC: skipped leading pictures of the current key are not shown */
    bool paired;             /* H.264: the current picture has both fields */
    int64_t high, low;       /* the order of the last picture that others refer to */
    int64_t number, offsets; /* H.264: of the last picture */
    /* of mpeg4.c: */
    int32_t time_bits; /* of times in pictures; 0: unknown */
    bool packed;       /* packets of AVI files may have two pictures */
} hr_units;

hr_status hr__units_create(hr_units **out, hr_video_codec codec, hr_error *error);
void hr__units_destroy(hr_units *u);
/* Takes over parameters and `extra`, so that pictures in front of them can be read, too. */
hr_status hr__units_preset(hr_units *u, const hr_units *from, hr_error *error);
/* Reads a unit, which begins behind its start code. */
hr_status hr__units_read(hr_units *u, const uint8_t *unit, size_t size, hr_unit_kind *kind,
                         hr_error *error);
/* The next unit of bytes in memory, which begin at *at; they are moved behind it. False at the end.
 */
bool hr__units_next(const uint8_t **at, size_t *left, const uint8_t **unit, size_t *size);
/* Bytes of a unit that hr__units_read needs at most. */
size_t hr__units_head(const hr_units *u, uint8_t first);
/* Sets what the parameters say about the video, if it is not known. */
void hr__units_describe(const hr_units *u, hr_video *v);

/* What the first units of a picture say about it, without parameters: KEY and DECODABLE of
 * HR_VIDEO_PACKET; < 0: the next unit says it. `recovery`: all zeros at the first unit. */
int32_t hr__h264_flags(const uint8_t *unit, size_t size, hr_unit_recovery *recovery);
int32_t hr__hevc_flags(const uint8_t *unit, size_t size);
bool hr__h264_is_odd(const uint8_t *unit);
bool hr__hevc_is_odd(const uint8_t *unit, size_t size);
/* *parameters: decoders need the unit before they can begin. */
hr_unit_kind hr__h264_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters);
hr_unit_kind hr__mpeg4_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters);
hr_unit_kind hr__hevc_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters);
