/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DICOM as volumes: the frames of a file are slices. Colours become RGB; grey values are those that
 * are stored, also where 0 is white. */
#include "codecs/volume/dicom.h"

#include "codecs/volume/dicom_frames.h"
#include "codecs/volume/volume.h"

#include <string.h>

static hr_status refuse_kind(const hr_dicom *d, hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "DICOM: %u samples per pixel of %u bits (%u stored), %s, are not supported",
                   d->samples, d->allocated, d->stored,
                   d->photometric[0] ? d->photometric : "without a photometric interpretation");
}

static bool is_any(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

/* Which colours a coding may say: that of JPEG files becomes RGB in their decoder. */
static bool colours_known(const hr_dicom *d)
{
    static const char *const plain[] = {"RGB", "YBR_FULL"};
    static const char *const jpeg[] = {"RGB", "YBR_FULL", "YBR_FULL_422"};
    static const char *const jpeg2000[] = {"RGB", "YBR_RCT", "YBR_ICT"};
    switch (d->coding) {
    case HR_DICOM_CODING_JPEG:
        return is_any(d->photometric, jpeg, HR_COUNT_OF(jpeg));
    case HR_DICOM_CODING_JPEG2000:
        return is_any(d->photometric, jpeg2000, HR_COUNT_OF(jpeg2000));
    case HR_DICOM_CODING_JPEG_LOSSLESS:
        return strcmp(d->photometric, "RGB") == 0;
    default:
        return is_any(d->photometric, plain, HR_COUNT_OF(plain));
    }
}

static hr_status check_kind(const hr_dicom *d, hr_error *error)
{
    bool grey = strncmp(d->photometric, "MONOCHROME", 10) == 0;
    bool palette = strcmp(d->photometric, "PALETTE COLOR") == 0;
    if (d->rows == 0 || d->columns == 0 || d->frames < 1)
        return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: %lld frames of %ux%u pixels",
                       (long long)d->frames, d->columns, d->rows);
    if (d->floats)
        return grey && d->samples == 1 && !d->encapsulated ? HR_STATUS_OK : refuse_kind(d, error);
    bool bits = d->stored >= 1 && d->stored <= d->allocated && d->high < d->allocated &&
                d->high + 1 >= d->stored && d->is_signed <= 1;
    if (d->samples == 3)
        return bits && (d->allocated == 8 || d->allocated == 16) && d->stored == d->allocated &&
                       !d->is_signed && d->planar <= 1 && colours_known(d)
                   ? HR_STATUS_OK
                   : refuse_kind(d, error);
    bool one = d->allocated == 1 && d->stored == 1 && d->coding == HR_DICOM_CODING_NATIVE;
    bool whole = d->allocated == 8 || d->allocated == 16 || (d->allocated == 32 && grey);
    if (!bits || d->samples != 1 || !(grey || palette) || !(whole || (one && grey)))
        return refuse_kind(d, error);
    if (palette && (d->is_signed || !hr_dicom_has_palette(d)))
        return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: a palette that is not valid");
    return HR_STATUS_OK;
}

static hr_dtype type_of(const hr_dicom *d)
{
    static const hr_dtype types[3][2] = {{HR_DTYPE_UINT8, HR_DTYPE_INT8},
                                         {HR_DTYPE_UINT16, HR_DTYPE_INT16},
                                         {HR_DTYPE_UINT32, HR_DTYPE_INT32}};
    if (d->floats)
        return d->floats == 32 ? HR_DTYPE_FLOAT : HR_DTYPE_FLOAT64;
    if (strcmp(d->photometric, "PALETTE COLOR") == 0)
        return d->palette_bits > 8 ? HR_DTYPE_UINT16 : HR_DTYPE_UINT8;
    return types[d->allocated <= 8 ? 0 : d->allocated == 16 ? 1 : 2][d->is_signed];
}

static void set_scale(const hr_dicom *d, hr_volume *out)
{
    out->slope = d->slope.given ? d->slope.value : 1;
    out->intercept = d->intercept.given ? d->intercept.value : 0;
    if (d->slope.differs || d->intercept.differs)
        out->unscaled = "frames have different slopes or intercepts";
    else if (d->has_table)
        out->unscaled = "a table (Modality LUT) gives the values their meaning";
}

static hr_status open(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                      hr_error *error)
{
    hr_dicom *d = hr_arena_alloc(c->arena, sizeof(*d), error);
    if (!d)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_dicom_read(bytes, size, d, error));
    HR_TRY(check_kind(d, error));
    HR_TRY(hr_dicom_check_frames(d, c, error));
    bool colours = strncmp(d->photometric, "MONOCHROME", 10) != 0;
    out->layout = colours ? "DHWC" : "DHW";
    out->shape = (hr_shape){3 + colours, {d->frames, d->rows, d->columns, 3}};
    out->dtype = type_of(d);
    if (!colours)
        set_scale(d, out);
    if (strcmp(d->photometric, "MONOCHROME1") == 0)
        out->notice = "the smallest value is white (MONOCHROME1); values are left as they are";
    out->state = d;
    return HR_STATUS_OK;
}

static hr_status read(const hr_volume *v, hr_op_call *c, void *dst, hr_error *error)
{
    const hr_dicom *d = v->state;
    size_t frame = hr_dtype_size(v->dtype) * d->rows * d->columns * (v->shape.ndim == 4 ? 3 : 1);
    for (int64_t i = 0; i < d->frames; i++) {
        hr_arena_mark mark = hr_arena_save(c->arena);
        hr_status status = hr_dicom_frame(d, i, c, (char *)dst + (size_t)i * frame, error);
        hr_arena_restore(c->arena, mark);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "frame %lld", (long long)i);
    }
    return HR_STATUS_OK;
}

const hr_volume_format hr_volume_format_dicom = {
    .name = "DICOM",
    .match = hr_dicom_match,
    .open = open,
    .read = read,
};
