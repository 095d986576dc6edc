/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The orientation of an image, the only part of EXIF that is read. */
#pragma once

#include "headrace/headrace.h"

/* Orientation 1 .. 8 of an EXIF block, with or without "Exif\0\0" before the TIFF header. Any bytes
 * are accepted; an absent or invalid orientation is 1. */
int32_t hr_exif_orientation(const uint8_t *bytes, size_t size);
