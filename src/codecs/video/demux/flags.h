/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What packets say about themselves: whether decoding can begin at them, and more. */
#pragma once

#include "codecs/video/demux/demuxer.h"

/* Reads the flags of packet `i`; HR_VIDEO_PACKET_KEY, which a container may have set, is replaced.
 */
hr_status hr__flags_set(hr_demux *d, int32_t i, hr_error *error);
/* Those of all packets, for containers that say nothing. */
hr_status hr__flags_read(hr_demux *d, hr_error *error);
