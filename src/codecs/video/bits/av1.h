/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The units (OBU) of AV1, as far as they say what has to be decoded. */
#pragma once

#include "codecs/video/video.h"

typedef struct hr_av1_unit {
    int32_t type; /* HR_AV1_UNIT_... */
    const uint8_t *bytes;
    size_t size;
} hr_av1_unit;

enum {
    HR_AV1_UNIT_SEQUENCE = 1,
    HR_AV1_UNIT_DELIMITER = 2,
    HR_AV1_UNIT_FRAME_HEADER = 3,
    HR_AV1_UNIT_TILES = 4,
    HR_AV1_UNIT_METADATA = 5,
    HR_AV1_UNIT_FRAME = 6,
    HR_AV1_UNIT_REPEATED_HEADER = 7,
    HR_AV1_UNIT_PADDING = 15
};

/* The next unit of `*left` bytes at `*at`, which are moved behind it. One that is cut ends with
 * them. */
bool hr__av1_next(const uint8_t **at, size_t *left, hr_av1_unit *unit);

/* HR_VIDEO_PACKET_KEY of a packet with a key frame that is shown at once; 0: another frame is its
 * first; < 0: its frames begin behind these bytes. */
int32_t hr__av1_flags(const uint8_t *config, size_t config_size, const uint8_t *bytes, size_t size);

/* Whether a packet has nothing but frames that are shown and that no other frame refers to.
 * `config`: an av1C. */
bool hr__av1_disposable(const uint8_t *config, size_t config_size, const uint8_t *bytes,
                        size_t size);
