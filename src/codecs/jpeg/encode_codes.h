/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman tables for encoding. */
#ifndef HR_CODECS_JPEG_ENCODE_CODES_H
#define HR_CODECS_JPEG_ENCODE_CODES_H

#include "kernels/jpeg.h"

enum { HR_JPEG_DEFINITION_BYTES = 16 + 256 };

/* Definitions, as in a DHT segment: 16 counts, then symbols. Those of annex K of the standard, for
 * luma (0) and chroma (1). */
const uint8_t *hr_jpeg_usual_codes(int chroma, bool ac);
/* The best one for symbols that occur so often; the same as libjpeg makes. */
void hr_jpeg_best_codes(uint8_t definition[HR_JPEG_DEFINITION_BYTES], const uint64_t count[256]);
size_t hr_jpeg_definition_size(const uint8_t *definition);

void hr_jpeg_codes_build(hr_jpeg_codes *codes, const uint8_t *definition);

#endif
