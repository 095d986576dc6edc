/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/volume/volume.h"

#include <string.h>

static hr_status check_extent(const hr_volume *v, const hr_op_call *c, hr_error *error)
{
    int64_t limit = hr_task_max_pixels(c->task), voxels = 1;
    bool colours = strchr(v->layout, 'C') != NULL;
    for (int32_t i = 0; i < v->shape.ndim - colours; i++) {
        int64_t n = v->shape.extent[i];
        if (n < 1)
            return hr_fail(error, HR_STATUS_CORRUPT, "%s: an extent of %lld", v->format->name,
                           (long long)n);
        if (n > limit / voxels)
            return hr_fail(error, HR_STATUS_LIMIT,
                           "the volume is over the limit of %lld voxels (max_image_pixels)",
                           (long long)limit);
        voxels *= n;
    }
    return HR_STATUS_OK;
}

hr_status hr_volume_open(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                         hr_error *error)
{
    *out = (hr_volume){.slope = 1};
    if (size == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "the file is empty");
    for (int i = 0; hr_volume_formats[i]; i++) {
        if (!hr_volume_formats[i]->match(bytes, size))
            continue;
        out->format = hr_volume_formats[i];
        HR_TRY(out->format->open(bytes, size, c, out, error));
        return check_extent(out, c, error);
    }
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "not a volume that this build reads; the formats are DICOM, NIfTI (.nii and "
                   ".nii.gz) and TIFF. decoders.image reads images");
}
