/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JPEG file made ready for a device: headers parsed, the scan cut where decoding can begin. The
 * record is what the kernels of cuda/jpeg read; compiled by nvcc too. */
#ifndef HR_CODECS_JPEG_DEVICE_H
#define HR_CODECS_JPEG_DEVICE_H

#include "core/staging.h"
#include "kernels/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_JPEG_DEVICE_SUB = 2048,  /* bits of a subsequence, which one thread decodes */
    HR_JPEG_DEVICE_STRIP = 256, /* bytes of the file that one thread takes stuffing out of */
    HR_JPEG_DEVICE_PAD = 64,    /* bytes behind segments that may be read */
    HR_JPEG_DEVICE_AHEAD = 64   /* bytes that are to follow what is needed where a file just ends */
};

/* How a segment ends. */
typedef enum hr_jpeg_device_end {
    HR_JPEG_DEVICE_CUT,     /* at a place that is known */
    HR_JPEG_DEVICE_RESTART, /* before a restart marker */
    HR_JPEG_DEVICE_LAST     /* at any marker, or with the file */
} hr_jpeg_device_end;

/* A part of the scan whose beginning is known: all of it, what lies between restart markers, or
 * between two places that an index knows. Blocks are counted in the order of the scan. */
typedef struct hr_jpeg_device_segment {
    uint32_t first, strip; /* its first subsequence and strip; the next segment's say how many */
    uint32_t raw, raw_end; /* in the file, as far as it may go */
    uint32_t bit;          /* where it begins in the scan without stuffing */
    uint16_t kind, bits;   /* hr_jpeg_device_end; bits of its last byte, 0: all */
    uint32_t block, block_end; /* what it holds and is needed */
    int32_t dc[3];             /* predictions */
    /* found when stuffing is taken out: where it ends, where the bit behind its last needed block
     * may lie, bytes of segments before it */
    uint32_t end, least, most, before;
} hr_jpeg_device_segment;

/* The start of an MCU that the kernels came by, for the file's index. */
typedef struct hr_jpeg_device_place {
    uint32_t bit; /* as in the index: from the scan's first byte in the file */
    uint32_t mcu; /* HR_JPEG_DEVICE_NOWHERE: there is none */
    int32_t dc[3];
} hr_jpeg_device_place;

#define HR_JPEG_DEVICE_NOWHERE UINT32_MAX

/* Plain data; pointers are device addresses. */
typedef struct hr_jpeg_device_image {
    /* set by the launch before the records are copied */
    uint8_t *dst;     /* rows of the window, interleaved channels, u8 */
    uint32_t *status; /* 0; the kernels write 1 when the scan is damaged in what was decoded */
    /* Room for hr_jpeg_device_places(image) of them, which the kernels fill in; or NULL. Good only
     * when `status` stays 0. */
    hr_jpeg_device_place *places;
    uint32_t *scan; /* scan_size bytes, 16-byte aligned */
    /* set by hr_jpeg_device_prepare; the launch may change `stride` */
    int64_t stride; /* bytes between rows of dst; dst holds stride * window_height bytes */
    int32_t window_y, window_x, window_height, window_width; /* of the stored picture */
    int32_t height, width, channels;                         /* channels of dst: 1 or 3 */
    int32_t components, planes;       /* in the scan; of these wanted, 1 or 3 */
    int32_t rgb;                      /* the components are no luma and chroma */
    int32_t h, v;                     /* sampling of the first component against the others */
    int32_t across;                   /* MCUs of a row */
    int32_t left, right, top, bottom; /* MCUs wanted */
    uint32_t subs, segment_count;     /* subsequences of all segments */
    uint32_t tail;      /* the first subsequence behind all places that an index knows; or `subs` */
    uint32_t tail_byte; /* where the tail's first byte lies in the file's scan */
    uint32_t strips, scan_size;               /* of all segments; bytes with all padding */
    const uint8_t *raw;                       /* the file, or as much of it as is needed */
    hr_jpeg_device_segment *segments;         /* and one more, of which `first` is `subs` */
    uint8_t dc[3], ac[3], dc_count, ac_count; /* table of each component; tables */
    uint16_t quant[3][64];                    /* of each component, in zigzag order */
    uint8_t dc_table[3][16 + 16];             /* counts of codes by length, symbols */
    uint8_t ac_table[3][16 + 256];
} hr_jpeg_device_image;

/* In the tail a place is noted in every other subsequence, not in the first. */
static inline uint32_t hr_jpeg_device_places(const hr_jpeg_device_image *image)
{
    return (image->subs - image->tail) / 2;
}

/* A picture that a device is to decode, and whose index may become longer by that. */
typedef struct hr_jpeg_device_picture {
    hr_jpeg_device_image image;
    size_t size; /* of the file */
    hr_hash key; /* in the cache of indices ... */
    int keyed;   /* ... if there is one */
} hr_jpeg_device_picture;

struct hr_arena;
struct hr_cache;
struct hr_image_info;
struct hr_codec_request;
struct hr_jpeg_index;

/* Reads the headers and cuts the scan. Of the request it takes window, channels and stride. `index`
 * (or NULL) names places in the scan: only what the window needs is looked at then. `reachable`:
 * the device can read `bytes`, and 64 bytes behind them, where they lie; else what is needed is
 * staged. HR_STATUS_NOT_FUSABLE: the file is not one for the device, or surely damaged. Any thread.
 */
hr_status hr_jpeg_device_prepare(const uint8_t *bytes, size_t size,
                                 const struct hr_image_info *info,
                                 const struct hr_codec_request *request,
                                 const struct hr_jpeg_index *index, int reachable,
                                 hr_staging *staging, hr_jpeg_device_image *out, hr_error *error);
/* Gives what the device noted (the host's copy) of an undamaged picture to the cache. */
void hr_jpeg_device_keep(const hr_jpeg_device_picture *picture, const hr_jpeg_device_place *places,
                         struct hr_cache *cache, struct hr_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
