/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Splits an elementary stream (H.264, HEVC, MPEG-4), which comes in pieces, into packets of one
 * picture each. Keeps the first bytes of one unit, and where the last pieces are. */
#pragma once

#include "codecs/video/bits/units.h"

enum { HR_SPLIT_PIECES = 8 };

typedef struct hr_split_piece {
    const uint8_t *bytes;
    size_t size;
    int64_t place; /* in the file */
    int64_t pts;   /* of the first picture that begins in this group of pieces */
    int64_t group;
} hr_split_piece;

/* A byte of the stream. */
typedef struct hr_split_point {
    int64_t place, group, pts; /* of its piece */
    size_t before, after;      /* bytes of the piece */
} hr_split_point;

typedef struct hr_split_packet {
    hr_split_point first, last; /* bytes */
    int64_t group, pts;         /* of the piece where the first start code ends */
    hr_unit_picture picture;
} hr_split_packet;

typedef struct hr_split {
    hr_units *units;
    hr_status (*found)(void *user, const hr_split_packet *packet, hr_error *error);
    void *user;
    /* of split.c: */
    int64_t at; /* bytes of the stream so far */
    struct {
        int64_t start;
        hr_split_piece piece;  /* without its bytes */
    } pieces[HR_SPLIT_PIECES]; /* the last ones, by number modulo HR_SPLIT_PIECES */
    int64_t piece_count;
    uint32_t recent; /* the last four bytes */
    bool in_head;    /* a unit has begun, and the bytes in `head` are not enough yet */
    size_t head_size;
    hr_split_packet unit; /* its first byte, and in `last` the byte before */
    hr_split_packet next; /* where the next picture begins, if `has_next` */
    hr_split_packet current;
    bool has_next, has_current;
    uint8_t head[HR_UNIT_MOST_HEAD];
} hr_split;

hr_status hr__split_create(hr_split **out, hr_video_codec codec, hr_error *error);
void hr__split_destroy(hr_split *s);
/* Calls `found` for packets that are complete. Pieces are not empty. */
hr_status hr__split_add(hr_split *s, const hr_split_piece *piece, hr_error *error);
/* The stream ends: what is left is the last packet. */
hr_status hr__split_end(hr_split *s, hr_error *error);
