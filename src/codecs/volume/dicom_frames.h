/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The pixels of the frames of a DICOM file. */
#pragma once

#include "codecs/volume/dicom.h"

bool hr_dicom_has_palette(const hr_dicom *d);
/* Finds all frames. Fails if one cannot have the pixels that it should. */
hr_status hr_dicom_check_frames(hr_dicom *d, hr_op_call *c, hr_error *error);
/* Writes the pixels of frame `i`, dense: 8, 16 or 32 bits, as is delivered. */
hr_status hr_dicom_frame(const hr_dicom *d, int64_t i, hr_op_call *c, void *dst, hr_error *error);
