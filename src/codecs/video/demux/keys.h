/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where decoding can begin, as the packets themselves say. What a container says about that saves
 * reading all of them, but is never believed: a wrong key would give wrong pixels. */
#pragma once

#include "codecs/video/demux/demuxer.h"

/* For containers that name the keys (HR_VIDEO_PACKET_KEY): reads the first bytes of those packets
 * and of all in front of the first key. Keys that are not named are not looked for behind it: the
 * frames that follow them are decoded from an earlier one. */
hr_status hr__keys_check(hr_demux *d, hr_error *error);
