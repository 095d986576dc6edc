/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files that the video module demultiplexes, also those with pictures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hr_audio_container {
    const char *name;    /* "MP4", for messages */
    const char *demuxer; /* of libavformat */
    bool (*match)(const uint8_t *bytes, size_t size);
} hr_audio_container;

/* NULL: it is none. */
const hr_audio_container *hr_audio_container_of(const uint8_t *bytes, size_t size);
