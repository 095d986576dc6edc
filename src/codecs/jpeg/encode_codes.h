/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman tables for encoding. */
#pragma once

#include "codecs/jpeg/best_codes.h"

/* Definitions of annex K of the standard, for luma (0) and chroma (1). */
const uint8_t *hr_jpeg_usual_codes(int chroma, bool ac);
size_t hr_jpeg_definition_size(const uint8_t *definition);
