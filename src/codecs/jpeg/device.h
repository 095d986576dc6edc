/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JPEG file prepared for a device: headers parsed, the scan cut into segments. The kernels of
 * cuda/jpeg read these records, so nvcc compiles this header, too. */
#pragma once

#include "codecs/steps.h"
#include "headrace/operator.h"
#include "kernels/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_JPEG_DEVICE_SUB = 2048,  /* bits per subsequence; one thread decodes one */
    HR_JPEG_DEVICE_STRIP = 256, /* bytes of the file that one thread unstuffs */
    HR_JPEG_DEVICE_PAD = 64,    /* bytes after segments that may be read */
    HR_JPEG_DEVICE_AHEAD =
        64, /* bytes that must follow the needed data if no marker ends the scan */
    /* of a progressive file. A scan refines bits of earlier scans, so that scans of one level are
     * decoded together, and levels in order: a coefficient has at most 14 bits */
    HR_JPEG_DEVICE_LEVELS = 14,
    HR_JPEG_DEVICE_NOTE = 512 /* bytes of a scan from one noted entry to the next */
};

/* How a segment ends. */
typedef enum hr_jpeg_device_end {
    HR_JPEG_DEVICE_CUT,     /* at an entry of the index */
    HR_JPEG_DEVICE_RESTART, /* before a restart marker, or where a progressive scan ends */
    HR_JPEG_DEVICE_PART,    /* before that: the last blocks are not needed */
    HR_JPEG_DEVICE_LAST     /* at any marker, or at the end of the file */
} hr_jpeg_device_end;

/* A part of the scan whose start is known: the whole scan, the data between two restart markers, or
 * between two entries of the index. Blocks are counted in the order of the scan. */
typedef struct hr_jpeg_device_segment {
    uint32_t first, strip; /* its first subsequence and strip; those of the next segment end them */
    uint32_t raw, raw_end; /* offsets from the image's `raw`; the end is an upper bound */
    uint32_t bit;          /* its start in the unstuffed scan */
    uint16_t kind, bits;   /* hr_jpeg_device_end; bits of its last byte, 0: all */
    uint32_t block, block_end; /* the blocks in it that are needed */
    int32_t dc[3];             /* DC predictions; of an AC scan: blocks left in the EOB run */
    uint32_t pass;             /* the scan of a progressive file */
    uint32_t note, notes;      /* ... and the entries that it may add: the first one, how many */
    /* set by unstuffing: its end, and bounds of the bit after its last needed block */
    uint32_t end, least, most;
} hr_jpeg_device_segment;

/* The start of an MCU that the kernels met: an entry of the file's index. */
typedef struct hr_jpeg_device_entry {
    uint32_t bit; /* as in the index: from the scan's first byte in the file */
    uint32_t mcu; /* HR_JPEG_DEVICE_NOWHERE: no entry */
    int32_t dc[3];
} hr_jpeg_device_entry;

#define HR_JPEG_DEVICE_NOWHERE UINT32_MAX

/* A scan of a progressive file. Its blocks are those of all its MCUs, in order; in a scan of one
 * component, an MCU is a block. */
typedef struct hr_jpeg_device_pass {
    int32_t components, component;    /* all, or one and its index */
    int32_t first, last, low, refine; /* as in hr_jpeg_pass */
    uint32_t across;                  /* MCUs in a row */
    uint32_t mcu;                     /* MCUs of the scans before it in the file */
    uint8_t table[3][16 + 256];       /* of each component: counts of codes by length, symbols */
} hr_jpeg_device_pass;

/* Plain data; pointers are device addresses, except `raw` of bytes to copy. */
typedef struct hr_jpeg_device_image {
    /* set when the record is copied for the kernels */
    uint8_t *dst;     /* rows of the turned window, interleaved channels, u8 */
    uint32_t *status; /* 0; the kernels write 1 if what they decoded is damaged */
    /* hr_jpeg_device_entry_count(image) entries that the kernels write, or NULL. Valid only if
     * `status` stays 0. */
    hr_jpeg_device_entry *entries;
    uint32_t *scan; /* scan_size bytes, 16-byte aligned */
    /* set by hr_jpeg_device_prepare */
    hr_steps steps;                                          /* in dst */
    int32_t window_y, window_x, window_height, window_width; /* of the stored image */
    int32_t height, width, channels;                         /* channels of dst: 1 or 3 */
    int32_t components, planes;       /* in the scan; needed of these: 1 or 3 */
    int32_t rgb;                      /* the components are R, G and B */
    int32_t h, v;                     /* sampling of the first component against the others */
    int32_t across;                   /* MCUs per row */
    int32_t left, right, top, bottom; /* MCUs that are needed */
    uint32_t subs, segment_count;     /* subsequences of all segments */
    uint32_t tail;              /* first subsequence after all entries of the index; or `subs` */
    uint32_t tail_byte;         /* offset of the tail's first byte in the file's scan */
    uint32_t strips, scan_size; /* of all segments; bytes with all padding */
    const uint8_t *raw;         /* the file from its first needed byte on */
    uint32_t raw_size;          /* bytes in host memory to copy to the device; 0: none */
    hr_jpeg_device_segment *segments;          /* and one more, whose `first` is `subs` */
    const hr_jpeg_device_pass *passes;         /* of a progressive file, or NULL */
    uint32_t notes;                            /* entries that its segments may add */
    uint32_t level[HR_JPEG_DEVICE_LEVELS + 1]; /* first segment of each level */
    uint8_t dc[3], ac[3], dc_count, ac_count;  /* table of each component; tables */
    uint16_t quant[3][64];                     /* of each component, in zigzag order */
    uint8_t dc_table[3][16 + 16];              /* counts of codes by length, symbols */
    uint8_t ac_table[3][16 + 256];
} hr_jpeg_device_image;

/* The tail gets one entry per two subsequences, beginning with its second. */
static inline uint32_t hr_jpeg_device_entry_count(const hr_jpeg_device_image *image)
{
    return image->passes ? image->notes : (image->subs - image->tail) / 2;
}

/* An image for a device to decode, which may extend its index. */
typedef struct hr_jpeg_device_record {
    hr_jpeg_device_image image;
    size_t size; /* of the file */
    hr_hash key; /* in the cache of indices ... */
    int keyed;   /* ... if there is one */
} hr_jpeg_device_record;

struct hr_arena;
struct hr_coded;
struct hr_cache;
struct hr_image_info;
struct hr_codec_request;
struct hr_jpeg_index;

/* Parses the headers and cuts the scan. The request determines window, channels and stride. `index`
 * may be NULL; with it, only segments that the window needs are used. `pinned`: `bytes` are in
 * pinned memory and stay until the kernels are done; otherwise the needed bytes are staged.
 * HR_STATUS_NOT_FUSABLE: the device does not decode such files, or the file is certainly damaged.
 * Any thread. */
hr_status hr_jpeg_device_prepare(const uint8_t *bytes, size_t size,
                                 const struct hr_image_info *info,
                                 const struct hr_codec_request *request,
                                 const struct hr_jpeg_index *index, int pinned, hr_staging *staging,
                                 hr_jpeg_device_image *out, hr_error *error);
/* The image as the executor sees it. */
void hr_jpeg_device_coded(const hr_jpeg_device_record *record, struct hr_coded *out);
/* Adds the entries of an undamaged image (the host's copy) to the cache. */
void hr_jpeg_device_keep(const hr_jpeg_device_record *record, const hr_jpeg_device_entry *entries,
                         struct hr_cache *cache, struct hr_arena *arena);

#ifdef __cplusplus
}
#endif
