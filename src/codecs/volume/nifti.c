/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* NIfTI-1 and NIfTI-2 in one file (.nii), also compressed with gzip. The first axis of the format
 * is the fastest one, so its axes x, y, z, t are the width, height, depth and frames. */
#include "codecs/volume/volume.h"

#include "codecs/bytes.h"
#include "codecs/volume/gunzip.h"

#include <math.h>
#include <string.h>

enum { HEADER_1 = 348, HEADER_2 = 540, AXES = 7 };

typedef struct kind {
    int32_t code;
    hr_dtype dtype;
    int32_t channels;
} kind;

static const kind kinds[] = {
    {2, HR_DTYPE_UINT8, 1},     {4, HR_DTYPE_INT16, 1},    {8, HR_DTYPE_INT32, 1},
    {16, HR_DTYPE_FLOAT, 1},    {64, HR_DTYPE_FLOAT64, 1}, {256, HR_DTYPE_INT8, 1},
    {512, HR_DTYPE_UINT16, 1},  {768, HR_DTYPE_UINT32, 1}, {1024, HR_DTYPE_INT64, 1},
    {1280, HR_DTYPE_UINT64, 1}, {128, HR_DTYPE_UINT8, 3},  {2304, HR_DTYPE_UINT8, 4},
};

typedef struct header {
    const uint8_t *p;
    bool second, big;
    const kind *kind;
    int64_t extent[AXES + 1]; /* the first is the number of the others */
    double offset, slope, intercept;
} header;

typedef struct values {
    const uint8_t *first;
    size_t bytes;
    bool big;
} values;

static uint64_t number(const header *h, size_t at, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | h->p[at + (h->big ? i : bytes - 1 - i)];
    return v;
}

static double real(const header *h, size_t at, size_t bytes)
{
    uint64_t bits = number(h, at, bytes);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &low, sizeof(f));
    memcpy(&d, &bits, sizeof(d));
    return bytes == 4 ? (double)f : d;
}

/* 1 or 2: of a header that is there as a whole; 0: there is none. */
static int version_of(const uint8_t *bytes, size_t size)
{
    if (size < 8)
        return 0;
    uint32_t n = hr_get_le32(bytes), m = hr_get_be32(bytes);
    if ((n == HEADER_1 || m == HEADER_1) && size >= HEADER_1 &&
        (memcmp(bytes + 344, "n+1", 4) == 0 || memcmp(bytes + 344, "ni1", 4) == 0))
        return 1;
    if ((n == HEADER_2 || m == HEADER_2) && size >= HEADER_2 &&
        (memcmp(bytes + 4, "n+2", 4) == 0 || memcmp(bytes + 4, "ni2", 4) == 0))
        return 2;
    return 0;
}

static bool match(const uint8_t *bytes, size_t size)
{
    uint8_t start[HEADER_2];
    if (!hr_gunzip_match(bytes, size))
        return version_of(bytes, size) != 0;
    return version_of(start, hr_gunzip_start(bytes, size, start, sizeof(start))) != 0;
}

static hr_status read_header(const uint8_t *bytes, size_t size, header *h, hr_error *error)
{
    int version = version_of(bytes, size);
    *h = (header){.p = bytes, .second = version == 2};
    if (version == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "NIfTI: the header ends early");
    h->big = hr_get_be32(bytes) == (h->second ? HEADER_2 : HEADER_1);
    int32_t code = (int32_t)number(h, h->second ? 12 : 70, 2);
    if (bytes[h->second ? 5 : 345] == 'i')
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "NIfTI: the values are in another file (.img); only single files (.nii) are "
                       "supported");
    for (size_t i = 0; i < HR_COUNT_OF(kinds); i++)
        if (kinds[i].code == code)
            h->kind = &kinds[i];
    if (!h->kind)
        return hr_fail(error, HR_STATUS_CORRUPT, "NIfTI: values of the type %d are not supported",
                       code);
    for (size_t i = 0; i <= AXES; i++)
        h->extent[i] =
            h->second ? (int64_t)number(h, 16 + 8 * i, 8) : (int16_t)number(h, 40 + 2 * i, 2);
    h->offset = h->second ? (double)(int64_t)number(h, 168, 8) : real(h, 108, 4);
    h->slope = h->second ? real(h, 176, 8) : real(h, 112, 4);
    h->intercept = h->second ? real(h, 184, 8) : real(h, 116, 4);
    return HR_STATUS_OK;
}

/* Axes beyond the fourth may only have one element, and a fourth one with one element is none. */
static hr_status set_shape(const header *h, hr_volume *out, hr_error *error)
{
    int64_t axes = h->extent[0], e[4] = {1, 1, 1, 1};
    if (axes < 1 || axes > AXES)
        return hr_fail(error, HR_STATUS_CORRUPT, "NIfTI: %lld axes; there are 1 to 7",
                       (long long)axes);
    for (int64_t i = 0; i < axes; i++) {
        if (i >= 4 && h->extent[i + 1] != 1)
            return hr_fail(
                error, HR_STATUS_CORRUPT,
                "NIfTI: an axis %lld of %lld elements is not supported; up to 4 axes are",
                (long long)i + 1, (long long)h->extent[i + 1]);
        if (i < 4)
            e[i] = h->extent[i + 1];
    }
    bool colours = h->kind->channels > 1, frames = e[3] != 1;
    int64_t extent[5] = {e[3], e[2], e[1], e[0], h->kind->channels};
    out->layout = frames ? (colours ? "FDHWC" : "FDHW") : (colours ? "DHWC" : "DHW");
    out->shape.ndim = 3 + frames + colours;
    memcpy(out->shape.extent, extent + !frames, (size_t)out->shape.ndim * sizeof(*extent));
    out->dtype = h->kind->dtype;
    return HR_STATUS_OK;
}

static hr_status set_scale(const header *h, hr_volume *out, hr_error *error)
{
    if (h->slope == 0 || !isfinite(h->slope) || h->kind->channels > 1)
        return HR_STATUS_OK; /* none */
    if (!isfinite(h->intercept))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "NIfTI: an intercept (scl_inter) that is no number");
    out->slope = h->slope;
    out->intercept = h->intercept;
    return HR_STATUS_OK;
}

static hr_status find_values(const header *h, size_t size, const hr_volume *v, values *out,
                             hr_error *error)
{
    size_t bytes = hr_dtype_size(v->dtype);
    for (int32_t i = 0; i < v->shape.ndim; i++)
        if (v->shape.extent[i] < 1 || !hr_size_mul(bytes, (size_t)v->shape.extent[i], &bytes))
            return hr_fail(error, HR_STATUS_CORRUPT, "NIfTI: an extent of %lld",
                           (long long)v->shape.extent[i]);
    double least = h->second ? HEADER_2 : HEADER_1;
    if (!(h->offset >= least && h->offset <= (double)size && h->offset == floor(h->offset)))
        return hr_fail(error, HR_STATUS_CORRUPT, "NIfTI: the values begin at %g (vox_offset)",
                       h->offset);
    size_t offset = (size_t)h->offset;
    if (bytes > size - offset)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "NIfTI: the file has %zu bytes of values, but its header says %zu",
                       size - offset, bytes);
    *out = (values){.first = h->p + offset, .bytes = bytes, .big = h->big};
    return HR_STATUS_OK;
}

static hr_status open(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                      hr_error *error)
{
    header h;
    values *state = hr_arena_alloc(c->arena, sizeof(*state), error);
    if (!state)
        return HR_STATUS_NO_MEMORY;
    if (hr_gunzip_match(bytes, size))
        HR_TRY(hr_gunzip(bytes, size, c->arena, &bytes, &size, error));
    HR_TRY(read_header(bytes, size, &h, error));
    HR_TRY(set_shape(&h, out, error));
    HR_TRY(set_scale(&h, out, error));
    out->state = state;
    return find_values(&h, size, out, state, error);
}

static hr_status read(const hr_volume *v, hr_op_call *c, void *dst, hr_error *error)
{
    const values *s = v->state;
    size_t each = hr_dtype_size(v->dtype);
    uint8_t *to = dst;
    (void)c;
    (void)error;
    if (!s->big || each == 1) {
        memcpy(dst, s->first, s->bytes);
        return HR_STATUS_OK;
    }
    for (size_t i = 0; i < s->bytes; i += each)
        for (size_t k = 0; k < each; k++)
            to[i + k] = s->first[i + each - 1 - k];
    return HR_STATUS_OK;
}

const hr_volume_format hr_volume_format_nifti = {
    .name = "NIfTI",
    .match = match,
    .open = open,
    .read = read,
};
