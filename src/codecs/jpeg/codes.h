/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The second bytes of JPEG markers. */
#pragma once

enum {
    MARKER_TEM = 0x01,
    MARKER_SOF0 = 0xC0,
    MARKER_SOF1 = 0xC1,
    MARKER_SOF2 = 0xC2,
    MARKER_SOF3 = 0xC3,
    MARKER_DHT = 0xC4,
    MARKER_JPG = 0xC8,
    MARKER_SOF9 = 0xC9,
    MARKER_SOF10 = 0xCA,
    MARKER_DAC = 0xCC,
    MARKER_SOF15 = 0xCF,
    MARKER_RST0 = 0xD0,
    MARKER_SOI = 0xD8,
    MARKER_EOI = 0xD9,
    MARKER_SOS = 0xDA,
    MARKER_DQT = 0xDB,
    MARKER_DRI = 0xDD,
    MARKER_APP0 = 0xE0,
    MARKER_APP1 = 0xE1,
    MARKER_APP14 = 0xEE,
    MARKER_APP15 = 0xEF,
    MARKER_COM = 0xFE
};
