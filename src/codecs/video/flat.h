/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The table of packets of a video as bytes without pointers, to be kept in a file or passed on. */
#pragma once

#include "codecs/video/video.h"

size_t hr_video_flat_size(const hr_video *video);
/* `file_size`: of the file that the table is of; `out`: hr_video_flat_size bytes of zeros. */
void hr_video_flat_write(const hr_video *video, int64_t file_size, void *out);

/* Whether bytes, which may come from anywhere, are the table of a file of this size. */
bool hr_video_flat_valid(const void *flat, size_t size, int64_t file_size);
/* A video whose arrays are in `flat`, which is valid: not to be freed with hr_video_fini. Returns
 * the size of the file. */
int64_t hr_video_flat_open(const void *flat, hr_video *video);
