/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tier 2: the packets of a tile, which say what bytes of it belong to which code-block. */
#pragma once

#include "codecs/jpeg2000/layout.h"

/* Reads all packets of a tile, whose tile-parts' bytes follow one another in `bytes`, and adds the
 * chunks to its code-blocks. HR_STATUS_NOT_FUSABLE: they are damaged, or incomplete, or something
 * follows them, or OpenJPEG may read them in another way. */
hr_status hr_jpeg2000_read_packets(const hr_jpeg2000_coding *coding, const hr_jpeg2000_tile *tile,
                                   uint32_t components, const uint8_t *bytes, size_t size,
                                   struct hr_arena *arena, hr_error *error);
