/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Progressive JPEG files as baseline files: the same coefficients in one scan, which has an index,
 * of which windows can be decoded, and which a GPU decodes. Caches keep them (`headrace index
 * --transcode`). */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_jpeg_file {
    const uint8_t *bytes;
    size_t size;
} hr_jpeg_file;

/* Writes the file's coefficients to a new file in c->arena, which hr_jpeg_stands_for accepts. False
 * if that is not possible: the file is not progressive, our own decoder does not take all of it,
 * libjpeg-turbo warns, or the new file would be too large for a cache. */
bool hr_jpeg_transcode(hr_jpeg_file file, hr_op_call *c, hr_jpeg_file *out);
/* Whether our decoders can use `other`, any bytes, in the place of a progressive file: the same
 * size, samplings, colours and quantisers, and sequential. The EXIF orientation is not compared;
 * that of `file` counts. */
bool hr_jpeg_stands_for(hr_jpeg_file other, hr_jpeg_file file);
