/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own JPEG decoder: 8-bit sequential Huffman files of one or three components in one scan, the
 * usual samplings, undamaged. Its bytes are libjpeg-turbo's (accurate integer DCT, fancy
 * upsampling). */
#ifndef HR_CODECS_JPEG_DECODER_H
#define HR_CODECS_JPEG_DECODER_H

#include "codecs/codec.h"

/* Decodes the window and sets *done; or leaves *done false when the file is not one for us or is
 * damaged in what the window needs (the destination may then be partly written). Fails only for
 * want of memory. */
hr_status hr_jpeg_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_codec_request *request, hr_op_call *c, bool *done,
                         hr_error *error);

#endif
