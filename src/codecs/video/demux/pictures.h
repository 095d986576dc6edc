/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Packets that are not what they seem: their times are those of decoding (AVI, and what was moved
 * from AVI to Matroska), or they hold the picture of the next packet, too (MPEG-4 of DivX and XviD,
 * "packed"). Which pictures there are and in which order they are shown follows from the stream. */
#pragma once

#include "codecs/video/demux/demuxer.h"

/* Replaces the table of packets, which are in decoding order, by one packet for each picture. The
 * times that they have, ascending, go to the pictures in the order in which they are shown. Flags
 * but HIDDEN are those of the stream. */
hr_status hr__pictures_order(hr_demux *d, hr_error *error);

/* Whether packets of MPEG-4 are packed, as far as the parameters and small packets show it. */
hr_status hr__pictures_are_packed(hr_demux *d, bool *packed, hr_error *error);
