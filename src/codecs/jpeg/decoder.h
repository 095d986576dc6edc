/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own JPEG decoder: 8-bit Huffman files of one or three components, sequential in one scan or
 * progressive, the usual samplings, undamaged. Its bytes are libjpeg-turbo's (accurate integer DCT,
 * fancy upsampling). */
#pragma once

#include "codecs/codec.h"
#include "codecs/jpeg/index.h"

typedef struct hr_jpeg_reader hr_jpeg_reader;

/* Opens a window; the reader is allocated from c->arena. `index` (or NULL) is used and extended;
 * new entries are valid only if no damage was found. HR_STATUS_NOT_FUSABLE: we do not decode this
 * file. */
hr_status hr_jpeg_open(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_jpeg_index *index, hr_op_call *c,
                       hr_jpeg_reader **out, hr_error *error);
/* Reads the next rows of the window. HR_STATUS_NOT_FUSABLE: the data that the window needs is
 * damaged; rows read so far may be wrong too. */
hr_status hr_jpeg_read(hr_jpeg_reader *reader, void *dst, size_t stride, int32_t rows,
                       hr_error *error);
/* Opens the window and reads it into request->dst. */
hr_status hr_jpeg_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_codec_request *request, hr_jpeg_index *index, hr_op_call *c,
                         hr_error *error);
