/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The bytes of a scan: stuffing taken out piece by piece, cut at restart markers, entered anywhere
 * through an index, and whether they were enough. */
#ifndef HR_CODECS_JPEG_INPUT_H
#define HR_CODECS_JPEG_INPUT_H

#include "codecs/jpeg/index.h"
#include "core/core.h"
#include "kernels/jpeg.h"

enum {
    /* bytes: libjpeg reads ahead, and warns when it meets the file's end in doing so */
    HR_JPEG_READ_AHEAD = 64,
    /* instead of a marker: */
    HR_JPEG_DISGUISED = -1, /* FF FF 00, data that looks like padding */
    HR_JPEG_CUT = -2        /* the piece ends within its segment */
};

/* A piece is what lies in memory without stuffing: a segment, or some of it. */
typedef struct hr_jpeg_input {
    const uint8_t *bytes, *end; /* of the file: the scan's first byte; its end */
    uint8_t *piece;
    const uint8_t *next; /* of the file, behind the piece and its marker; NULL: none is open */
    int marker;          /* behind the piece; 0: the file ends there; < 0: input.c */
    int32_t restart;     /* MCUs in a segment, 0: one segment */
    int32_t left;        /* of them */
    /* To find places in the file again: where the piece begins there, before which of the piece's
     * bytes a zero was taken out, and how many of these lie before the last place found. */
    const uint8_t *first;
    uint32_t *removed;
    size_t removals, room, passed;
    hr_jpeg_index *index;
    int32_t entry;      /* the one before the place sought last: the next one is near */
    hr_jpeg_index none; /* of who has no index */
    hr_jpeg_entry start;
} hr_jpeg_input;

/* Nothing is open yet; memory from the arena. What is found on the way goes into `index`, which may
 * be NULL, as long as it has room. */
hr_status hr_jpeg_input_open(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *bytes,
                             size_t size, int32_t restart, hr_jpeg_index *index, hr_arena *arena,
                             hr_error *error);
/* Brings the scan as near before MCU `mcu` as it gets without decoding: to the last place known
 * before it, unless it stands nearer already; MCUs up to `end` (exclusive) can be decoded then.
 * Returns how many MCUs are left to skip. */
int32_t hr_jpeg_input_seek(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcu, int32_t end);
/* How many of the next `mcus` MCUs lie in one segment, which it opens when the last one is used up;
 * 0 when there is damage. */
int32_t hr_jpeg_input_run(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcus);
/* Puts the places that decoding came by into the index; after each run. */
void hr_jpeg_input_note(hr_jpeg_input *in, hr_jpeg_scan *scan);
/* The marker behind a scan that is decoded to its end; NULL when there is more or less than that.
 */
const uint8_t *hr_jpeg_input_end(const hr_jpeg_input *in, const hr_jpeg_scan *scan);
/* Did all that was decoded come from the file? */
bool hr_jpeg_input_whole(const hr_jpeg_input *in, const hr_jpeg_scan *scan);

#endif
