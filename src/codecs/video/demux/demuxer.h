/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Demuxers: one file with one table each (`const hr_demuxer hr_demuxer_mp4` in mp4.c); the build
 * makes the registry from the sources. A demuxer fills the table of packets in decoding order;
 * what all share (frames in order of presentation, packets that cannot be decoded, limits) is in
 * demuxer.c and video.c. A new container changes no other file; it takes keys from what packets say
 * (keys.h), never from what the container says alone. */
#pragma once

#include "codecs/video/video.h"

enum {
    HR_VIDEO_HEAD = 1024,            /* bytes that `match` gets, if the file has them */
    HR_VIDEO_MOST_PACKETS = 1 << 24, /* three days at 60 frames per second */
    HR_DEMUX_MOST_BYTES = 1 << 20,   /* of hr__demux_bytes */
    HR_VIDEO_MOST_EXTRA = 1 << 20    /* bytes of what decoders need first */
};
/* Numbers of this size are no times: sums of them would overflow. */
#define HR_VIDEO_MOST_PTS ((int64_t)1 << 60)

/* A scan of one file. */
typedef struct hr_demux {
    const hr_video_file *file;
    hr_video *video;
    int32_t capacity; /* of video->packets */
    bool full;        /* a packet was not in the file: no more are added */
    int64_t start;    /* the bytes of the file in `bytes`: */
    size_t size, room;
    int64_t last; /* offset that was asked for */
    uint8_t *bytes;
    uint8_t *head; /* of hr__demux_head */
    size_t head_room;
    int64_t fetched; /* bytes that were read of the file, and looked at */
} hr_demux;

typedef struct hr_demuxer {
    const char *name; /* "MP4" */
    /* Whether the first bytes of a file look like this container. */
    bool (*match)(const uint8_t *bytes, size_t size);
    /* Asked if no demuxer matches: looks at more of the file. NULL: there is nothing to look for.
     */
    hr_status (*probe)(hr_demux *d, bool *found, hr_error *error);
    hr_status (*scan)(hr_demux *d, hr_error *error);
    /* As hr_video_unpack. NULL: packets are stored as decoders take them. */
    hr_status (*unpack)(const hr_video *video, const hr_video_packet *packet, const uint8_t *stored,
                        uint8_t *out, size_t *size, hr_error *error);
    /* As hr_video_room. NULL: packets are not larger than they are stored. */
    size_t (*room)(const hr_video *video, const hr_video_packet *packet);
} hr_demuxer;

extern const hr_demuxer *const hr_demuxers[]; /* NULL-terminated, sorted by name */

/* `size` <= HR_DEMUX_MOST_BYTES bytes of the file, valid until the next call; NULL and the error
 * if the file has not so many or they cannot be read. Reads far ahead only if steps are small. */
const uint8_t *hr__demux_bytes(hr_demux *d, int64_t offset, size_t size, hr_error *error);
/* As many of `size` bytes as there are; `*have` of them. */
const uint8_t *hr__demux_some(hr_demux *d, int64_t offset, size_t size, size_t *have,
                              hr_error *error);
/* At most `most` <= HR_DEMUX_MOST_BYTES of the first bytes of a packet, as decoders take them,
 * valid until the next call; `*have` of them. */
const uint8_t *hr__demux_head(hr_demux *d, const hr_video_packet *packet, size_t most, size_t *have,
                              hr_error *error);
/* As hr_video_unpack, for packets that are stored as decoders take them, but for v->prefix. */
hr_status hr__demux_copy(const hr_video *video, const hr_video_packet *packet,
                         const uint8_t *stored, uint8_t *out, size_t *size);
/* A range of the file in memory of its own, to be freed with hr_free. */
hr_status hr__demux_load(hr_demux *d, int64_t offset, int64_t size, uint8_t **out, hr_error *error);
/* Fails for a time whose sum with another might overflow. */
hr_status hr__demux_time(int32_t packet, int64_t pts, hr_error *error);
/* Adds a packet, unless it or one before it is not in the file, or it is empty. */
hr_status hr__demux_add(hr_demux *d, hr_video_packet packet, hr_error *error);
/* Sets what decoders need first. */
hr_status hr__demux_extra(hr_demux *d, const uint8_t *bytes, size_t size, hr_error *error);
/* Sets the frames per second from the length of a frame in nanoseconds, rounded; 0: unknown. */
void hr__demux_rate(hr_video *v, uint64_t duration);
