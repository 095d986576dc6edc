/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Video files in memory. */
#pragma once

#include "codecs/video/video.h"

/* The bytes stay where they are. */
hr_video_file hr_video_file_of(const void *bytes, size_t size);
