/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Video files: where the packets of the video track are, and which of them have to be decoded for
 * given frames. Nothing here decodes.
 *
 * The engine includes the headers of this folder. Those of bits/ (what packets say) and demux/
 * (containers, which may use bits/) are for this folder only. */
#pragma once

#include "core/core.h"

typedef enum hr_video_codec {
    HR_VIDEO_CODEC_NONE,
    HR_VIDEO_CODEC_H264,
    HR_VIDEO_CODEC_HEVC,
    HR_VIDEO_CODEC_VP8,
    HR_VIDEO_CODEC_VP9,
    HR_VIDEO_CODEC_AV1,
    HR_VIDEO_CODEC_MPEG4,
    HR_VIDEO_CODEC_MJPEG,
    HR_VIDEO_CODEC_COUNT
} hr_video_codec;

/* What a stream or a container says about its colours. */
typedef struct hr_video_signal {
    int32_t matrix; /* MatrixCoefficients of H.273; 0 and 2: it does not say */
    bool full_range;
} hr_video_signal;

typedef struct hr_video_packet {
    int64_t offset; /* in the file */
    int32_t size;   /* bytes in the file, with what `hr_video_unpack` removes */
    int32_t flags;  /* HR_VIDEO_PACKET_... */
    int64_t pts;    /* in units of the time base; HR_VIDEO_NO_PTS: unknown */
} hr_video_packet;

enum {
    HR_VIDEO_PACKET_KEY = 1 << 0,    /* decoding can begin here */
    HR_VIDEO_PACKET_HIDDEN = 1 << 1, /* decoded, but not a frame of the presentation (edit lists) */
    /* Follows a key packet of an open group in decoding order, precedes it in presentation, and
     * cannot be decoded from there. */
    HR_VIDEO_PACKET_LEADING = 1 << 2,
    /* Would be LEADING, but can be decoded from that key packet. Set by demuxers that know. */
    HR_VIDEO_PACKET_DECODABLE = 1 << 3,
    /* H.264: the second field of the picture of the packet before it. Not a frame of its own. */
    HR_VIDEO_PACKET_FIELD = 1 << 4,
    /* H.264, set by demuxers that know: decoding can begin about here, but its pictures are exact
     * only from one that is REFRESHED (recovery points, intra refresh). KEY and REFRESH: the
     * first packet that is decoded is such a one, because there is no key. */
    HR_VIDEO_PACKET_REFRESH = 1 << 5,
    HR_VIDEO_PACKET_REFRESHED = 1 << 6,
    HR_VIDEO_PACKET_INTRA = 1 << 7 /* H.264: refers to no other picture; later ones may do so */
};
#define HR_VIDEO_NO_PTS INT64_MIN
#define HR_VIDEO_PAD 64 /* zero bytes behind what decoders read */

/* The video track of a file. */
typedef struct hr_video {
    const char *format; /* "MP4", for messages */
    hr_video_codec codec;
    int32_t width, height;      /* as the container says; 0: unknown */
    int64_t time_num, time_den; /* a pts of 1 is num / den seconds */
    int32_t rate_num, rate_den; /* frames per second, as the container says or on average */
    hr_video_signal signal;     /* by the container; streams may say otherwise */
    int32_t rotation;           /* clockwise: 0, 90, 180, 270; -1: none of these */
    bool mirrored;              /* columns are reversed first */
    uint8_t *extra; /* what decoders need first: avcC, hvcC, av1C, ..., and HR_VIDEO_PAD zeros */
    size_t extra_size;
    int32_t packing; /* how packets are stored in the file: of the demuxer; 0: in one piece */
    int32_t layers;  /* of HEVC with start codes: temporal layers of the whole stream; 0: unknown */
    int32_t prefix_size; /* bytes in front of all packets that are not in the file: */
    uint8_t prefix[32];
    int32_t count; /* packets, in decoding order */
    hr_video_packet *packets;
    int32_t key_count;
    int32_t *keys;  /* packets where decoding can begin, ascending */
    int32_t frames; /* packets that are frames of the presentation */
    int32_t *order; /* frame in presentation order -> packet */
} hr_video;

/* Reads `size` bytes of the file at `offset`; the range lies within it. */
typedef struct hr_video_file {
    hr_status (*read)(void *user, int64_t offset, size_t size, void *dst, hr_error *error);
    void *user;
    int64_t size;
} hr_video_file;

/* Reads the headers and tables of a file, and no packets where the container has tables. `video`
 * is freed with hr_video_fini. */
hr_status hr_video_scan(const hr_video_file *file, hr_video *video, hr_error *error);
void hr_video_fini(hr_video *video);

/* The bytes of memory that hr_video_unpack needs for a packet. */
size_t hr_video_room(const hr_video *video, const hr_video_packet *packet);
/* From the bytes of a packet in the file to what decoders take; HR_VIDEO_PAD zero bytes follow
 * them. H.264 and HEVC keep the form of the file: NAL units have lengths if `extra` is an avcC or
 * hvcC (its first byte is 1), otherwise start codes. */
hr_status hr_video_unpack(const hr_video *video, const hr_video_packet *packet,
                          const uint8_t *stored, uint8_t *out, size_t *size, hr_error *error);

/* ---- which packets make given frames ---- */

/* Decode the packets first <= i < end, in their order, and keep the frames of the packets
 * wanted[from] ... wanted[to - 1]. Frames are recognised by the number of their packet: times are
 * not unique, because an edit list can use packets twice. */
typedef struct hr_video_run {
    int32_t first, end;
    int32_t from, to;
} hr_video_run;

typedef struct hr_video_plan {
    int32_t run_count;
    hr_video_run *runs;
    int32_t wanted_count;
    int32_t *wanted; /* packets, each once, in the order in which they are presented */
} hr_video_plan;

/* The runs that decode `frames` (numbers in presentation order, in any order, repeated, negative
 * ones skipped). Memory is from `arena`. */
hr_status hr_video_plan_make(const hr_video *video, const int32_t *frames, int32_t count,
                             hr_arena *arena, hr_video_plan *plan, hr_error *error);
