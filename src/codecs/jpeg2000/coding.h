/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* How all tiles of a usual JPEG 2000 codestream are coded: its main header, as far as our own
 * decoder supports it. Names are those of ITU-T T.800. */
#pragma once

#include "codecs/jpeg2000/codestream.h"

enum { HR_JPEG2000_LEVELS = 15, HR_JPEG2000_BANDS = 3 * HR_JPEG2000_LEVELS + 1 };

typedef enum hr_jpeg2000_order {
    HR_JPEG2000_ORDER_LRCP, /* layer, resolution, component, position */
    HR_JPEG2000_ORDER_RLCP,
    HR_JPEG2000_ORDER_RPCL,
    HR_JPEG2000_ORDER_PCRL,
    HR_JPEG2000_ORDER_CPRL
} hr_jpeg2000_order;

typedef struct hr_jpeg2000_step {
    uint8_t exponent;
    uint16_t mantissa;
} hr_jpeg2000_step;

typedef struct hr_jpeg2000_coding {
    hr_jpeg2000_order order;
    uint32_t layers, levels;
    uint32_t block_w, block_h; /* logarithms of the size of code-blocks */
    bool reversible;           /* the 5/3 wavelet; otherwise 9/7 */
    bool mixed;                /* the first three components are luma and colour differences */
    bool sop, eph;             /* packets may begin with a marker; their headers end with one */
    uint8_t precincts[HR_JPEG2000_LEVELS + 1]; /* logarithms: width in the low half, then height */
    uint32_t guard;                            /* bits */
    hr_jpeg2000_step steps[HR_JPEG2000_BANDS];
} hr_jpeg2000_coding;

/* Reads the main header. `at`: where the first tile-part begins. False if it is damaged, or has
 * something that our decoder does not support. */
bool hr_jpeg2000_read_coding(const uint8_t *bytes, size_t size, hr_jpeg2000_coding *coding,
                             size_t *at);
/* The end of the segments in a tile-part's header, where SOD is; 0 if one changes the coding. */
size_t hr_jpeg2000_skip_header(const uint8_t *bytes, size_t size, size_t at);
