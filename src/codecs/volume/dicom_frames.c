/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/volume/dicom_frames.h"

#include "codecs/bytes.h"
#include "codecs/codec.h"

#include <string.h>

enum { RLE_HEADER = 64, RLE_SEGMENTS = 15, RLE_RATIO = 64 };

static size_t pixels_of(const hr_dicom *d)
{
    return (size_t)d->rows * d->columns;
}

/* ---- where the frames are ---- */

/* Bytes of an uncompressed frame; of single bits, all frames follow one another. */
static hr_status check_native(const hr_dicom *d, hr_error *error)
{
    size_t bits = d->floats ? d->floats : d->allocated * (size_t)d->samples, total;
    bool fits = hr_size_mul(pixels_of(d) * bits, (size_t)d->frames, &total);
    if (fits && (total + 7) / 8 <= d->pixels.size)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "DICOM: %zu bytes of pixels are too few for %lld frames of %ux%u pixels",
                   d->pixels.size, (long long)d->frames, d->columns, d->rows);
}

static hr_status check_rle(const hr_dicom *d, hr_dicom_span f, hr_error *error)
{
    size_t needed = pixels_of(d) * d->samples * (d->allocated / 8);
    if (f.size >= RLE_HEADER && hr_get_le32(f.p) == d->samples * (d->allocated / 8) &&
        needed / RLE_RATIO <= f.size)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: an RLE frame that is not valid");
}

/* What the start of a coded frame says. */
typedef struct coded {
    uint32_t bits;
    bool is_signed;
    bool plain; /* JPEG: three components are said to be RGB */
} coded;

/* The frame header of a JPEG file. */
static bool read_jpeg(hr_dicom_span f, coded *out)
{
    for (size_t at = 2; at + 4 <= f.size && f.p[at] == 0xFF;) {
        uint8_t marker = f.p[at + 1];
        if (marker == 0xFF) { /* fill */
            at++;
            continue;
        }
        size_t length = hr_get_be16(f.p + at + 2);
        if (length < 2 || length > f.size - at - 2)
            return false;
        const uint8_t *body = f.p + at + 4;
        if (marker == 0xEE && length >= 14 && memcmp(body, "Adobe", 5) == 0)
            out->plain = body[11] == 0;
        if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
            marker != 0xCC) {
            if (length < 8)
                return false;
            out->bits = body[0];
            out->plain |= length >= 17 && body[6] == 'R' && body[9] == 'G' && body[12] == 'B';
            return true;
        }
        at += 2 + length;
    }
    return false;
}

/* The size marker of a codestream of JPEG 2000. */
static bool read_jpeg2000(hr_dicom_span f, coded *out)
{
    static const uint8_t start[] = {0xFF, 0x4F, 0xFF, 0x51};
    if (f.size < 44 || memcmp(f.p, start, sizeof(start)) != 0)
        return false;
    out->bits = (f.p[42] & 0x7Fu) + 1;
    out->is_signed = f.p[42] & 0x80;
    return true;
}

static hr_status probe_coded(const hr_dicom *d, hr_dicom_span f, hr_op_call *c, hr_image_info *info,
                             coded *out, hr_error *error)
{
    bool second = d->coding == HR_DICOM_CODING_JPEG2000;
    *out = (coded){0};
    HR_TRY(hr_image_probe(f.p, f.size, hr_task_max_pixels(c->task), info, error));
    if (strcmp(info->codec->name, second ? "jpeg2000" : "jpeg") != 0 ||
        !(second ? read_jpeg2000 : read_jpeg)(f, out) ||
        info->lossless != (d->coding == HR_DICOM_CODING_JPEG_LOSSLESS))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: a frame is not coded as the transfer syntax says");
    if (info->height != (int32_t)d->rows || info->width != (int32_t)d->columns ||
        info->channels != (int32_t)d->samples)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: a frame has %dx%d pixels (width x height) of %d samples, but the "
                       "file says %ux%u of %u",
                       info->width, info->height, info->channels, d->columns, d->rows, d->samples);
    if (out->bits < 1 || out->bits > 16 || out->bits > d->allocated || d->allocated > 16 ||
        (out->bits > 8) != (d->allocated > 8) || (out->is_signed && !d->is_signed))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: a frame of %u bits%s for pixels of %u bits is not supported",
                       out->bits, out->is_signed ? ", signed," : "", d->allocated);
    if (d->coding == HR_DICOM_CODING_JPEG && d->samples == 3 &&
        out->plain != (strcmp(d->photometric, "RGB") == 0))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: the colours are %s, but those of the JPEG frame are %s",
                       d->photometric, out->plain ? "RGB" : "YCbCr");
    return HR_STATUS_OK;
}

hr_status hr_dicom_check_frames(hr_dicom *d, hr_op_call *c, hr_error *error)
{
    if (!d->encapsulated)
        return check_native(d, error);
    HR_TRY(hr_dicom_find_frames(d, c->arena, error));
    for (int64_t i = 0; i < d->frames; i++) {
        hr_image_info info;
        coded of;
        if (d->coding == HR_DICOM_CODING_RLE)
            HR_TRY(check_rle(d, d->frame[i], error));
        else
            HR_TRY(probe_coded(d, d->frame[i], c, &info, &of, error));
    }
    return HR_STATUS_OK;
}

/* ---- stored samples ---- */

/* Samples of a pixel follow one another, or come in planes. */
typedef struct samples {
    const uint8_t *p;
    size_t pixel, sample; /* bytes to the next one */
    size_t bytes;         /* of a sample, little endian */
} samples;

static uint32_t sample_at(const samples *s, size_t i, uint32_t k)
{
    const uint8_t *p = s->p + i * s->pixel + k * s->sample;
    return s->bytes == 1 ? *p : s->bytes == 2 ? hr_get_le16(p) : hr_get_le32(p);
}

static samples native(const hr_dicom *d, int64_t frame)
{
    size_t bytes = d->allocated / 8, count = pixels_of(d);
    bool planes = d->planar && d->samples > 1;
    return (samples){.p = d->pixels.p + (size_t)frame * count * d->samples * bytes,
                     .pixel = planes ? bytes : bytes * d->samples,
                     .sample = planes ? bytes * count : bytes,
                     .bytes = bytes};
}

/* PackBits: one segment for each byte of a sample, the highest first. */
static bool unpack(hr_dicom_span f, uint32_t segment, uint32_t segments, uint8_t *dst, size_t step,
                   size_t count)
{
    size_t at = hr_get_le32(f.p + 4 + 4 * (size_t)segment), done = 0;
    size_t end = segment + 1 < segments ? hr_get_le32(f.p + 8 + 4 * (size_t)segment) : f.size;
    if (at < RLE_HEADER || at > end || end > f.size)
        return false;
    while (done < count && at < end) {
        uint8_t code = f.p[at++];
        size_t n = code < 128 ? code + 1u : 257u - code, literal = code < 128;
        if (code == 128)
            continue;
        if (at + (literal ? n : 1) > end)
            return false;
        for (size_t i = 0; i < n && done < count; i++, done++)
            dst[done * step] = f.p[literal ? at + i : at];
        at += literal ? n : 1;
    }
    return done == count;
}

static hr_status read_rle(const hr_dicom *d, int64_t frame, hr_arena *arena, samples *out,
                          hr_error *error)
{
    size_t bytes = d->allocated / 8, count = pixels_of(d);
    uint32_t segments = d->samples * (uint32_t)bytes;
    uint8_t *to = hr_arena_alloc(arena, count * segments, error);
    if (!to)
        return HR_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < segments; i++) {
        size_t sample = i / bytes, byte = bytes - 1 - i % bytes;
        if (!unpack(d->frame[frame], i, segments, to + sample * count * bytes + byte, bytes, count))
            return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: RLE data is damaged or ends early");
    }
    *out = (samples){.p = to, .pixel = bytes, .sample = bytes * count, .bytes = bytes};
    return HR_STATUS_OK;
}

/* The decoder's levels fill 8 or 16 bits, from 0; they become what was coded. */
static void restore(const coded *of, uint8_t *data, size_t count, size_t bytes)
{
    uint32_t top = (1u << of->bits) - 1, most = bytes == 2 ? UINT16_MAX : UINT8_MAX;
    uint32_t zero = of->is_signed ? 1u << (of->bits - 1) : 0;
    for (size_t i = 0; i < count; i++, data += bytes) {
        uint32_t v = bytes == 2 ? ((uint16_t *)(void *)data)[0] : data[0];
        if (most != top)
            v = (uint32_t)((v * (uint64_t)top + most / 2) / most);
        v -= zero;
        data[0] = (uint8_t)v;
        if (bytes == 2)
            data[1] = (uint8_t)(v >> 8);
    }
}

static hr_status read_coded(const hr_dicom *d, int64_t frame, hr_op_call *c, samples *out,
                            hr_error *error)
{
    hr_image_info info;
    coded of;
    hr_dicom_span f = d->frame[frame];
    HR_TRY(probe_coded(d, f, c, &info, &of, error));
    size_t bytes = (size_t)info.bits / 8, row = d->columns * bytes * d->samples;
    uint8_t *to = hr_arena_alloc(c->arena, row * d->rows, error);
    if (!to)
        return HR_STATUS_NO_MEMORY;
    const hr_decode_request q = {.window = {.h = info.height, .w = info.width},
                                 .type = HR_IMAGE_TYPE_ANY_DATA,
                                 .dtype = hr_image_own_dtype(&info),
                                 .dst = to,
                                 .stride = row};
    HR_TRY(hr_image_decode(f.p, f.size, &info, &q, c, error));
    restore(&of, to, pixels_of(d) * d->samples, bytes);
    *out = (samples){.p = to, .pixel = bytes * d->samples, .sample = bytes, .bytes = bytes};
    return HR_STATUS_OK;
}

/* ---- pixels ---- */

static void store(void *dst, size_t bytes, size_t i, uint32_t v)
{
    if (bytes == 1)
        ((uint8_t *)dst)[i] = (uint8_t)v;
    else if (bytes == 2)
        ((uint16_t *)dst)[i] = (uint16_t)v;
    else
        ((uint32_t *)dst)[i] = v;
}

/* Without the bits around those that are stored; the highest of these is the sign. */
static void put_grey(const hr_dicom *d, const samples *s, void *dst)
{
    uint32_t mask = d->stored == 32 ? UINT32_MAX : (1u << d->stored) - 1;
    uint32_t sign = d->is_signed ? 1u << (d->stored - 1) : 0, shift = d->high + 1 - d->stored;
    size_t count = pixels_of(d);
    if (s->bytes == 4) {
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)dst)[i] = ((((sample_at(s, i, 0) >> shift) & mask) ^ sign) - sign);
        return;
    }
    for (size_t i = 0; i < count; i++)
        store(dst, s->bytes, i, (((sample_at(s, i, 0) >> shift) & mask) ^ sign) - sign);
}

static void put_bits(const hr_dicom *d, int64_t frame, uint8_t *dst)
{
    size_t count = pixels_of(d), first = (size_t)frame * count;
    for (size_t i = 0; i < count; i++)
        dst[i] = d->pixels.p[(first + i) / 8] >> ((first + i) % 8) & 1;
}

bool hr_dicom_has_palette(const hr_dicom *d)
{
    size_t entries = d->palette_count ? d->palette_count : 65536;
    for (int k = 0; k < 3; k++)
        if (!d->palette[k].p || d->palette[k].size < entries * (d->palette_bits > 8 ? 2 : 1))
            return false;
    return d->palette_bits == 8 || d->palette_bits == 16;
}

static void put_palette(const hr_dicom *d, const samples *s, void *dst)
{
    uint32_t last = (d->palette_count ? d->palette_count : 65536u) - 1, first = d->palette_first;
    uint32_t mask = (1u << d->stored) - 1;
    for (size_t i = 0; i < pixels_of(d); i++) {
        uint32_t v = sample_at(s, i, 0) >> (d->high + 1 - d->stored) & mask;
        uint32_t entry = v < first ? 0 : HR_MIN(v - first, last);
        for (size_t k = 0; k < 3; k++)
            if (d->palette_bits > 8)
                ((uint16_t *)dst)[3 * i + k] = (uint16_t)hr_get_le16(d->palette[k].p + 2 * entry);
            else
                ((uint8_t *)dst)[3 * i + k] = d->palette[k].p[entry];
    }
}

static uint32_t level(float v, float top)
{
    return (uint32_t)((v < 0 ? 0 : v > top ? top : v) + 0.5f);
}

/* YBR_FULL: luma and chroma of BT.601 in the full range. */
static void put_ybr(const samples *s, size_t count, void *dst)
{
    float top = s->bytes == 2 ? 65535 : 255, middle = s->bytes == 2 ? 32768 : 128;
    for (size_t i = 0; i < count; i++) {
        float y = (float)sample_at(s, i, 0), b = (float)sample_at(s, i, 1) - middle;
        float r = (float)sample_at(s, i, 2) - middle;
        store(dst, s->bytes, 3 * i, level(y + 1.402f * r, top));
        store(dst, s->bytes, 3 * i + 1, level(y - 0.344136f * b - 0.714136f * r, top));
        store(dst, s->bytes, 3 * i + 2, level(y + 1.772f * b, top));
    }
}

static void put_colours(const hr_dicom *d, const samples *s, void *dst)
{
    bool plain = d->coding != HR_DICOM_CODING_NATIVE && d->coding != HR_DICOM_CODING_RLE;
    if (!plain && strcmp(d->photometric, "YBR_FULL") == 0) {
        put_ybr(s, pixels_of(d), dst);
        return;
    }
    for (size_t i = 0; i < pixels_of(d); i++)
        for (uint32_t k = 0; k < 3; k++)
            store(dst, s->bytes, 3 * i + k, sample_at(s, i, k));
}

hr_status hr_dicom_frame(const hr_dicom *d, int64_t i, hr_op_call *c, void *dst, hr_error *error)
{
    samples s;
    size_t count = pixels_of(d);
    if (d->floats) {
        size_t bytes = count * d->floats / 8;
        memcpy(dst, d->pixels.p + (size_t)i * bytes, bytes);
        return HR_STATUS_OK;
    }
    if (d->allocated == 1) {
        put_bits(d, i, dst);
        return HR_STATUS_OK;
    }
    if (d->coding == HR_DICOM_CODING_NATIVE)
        s = native(d, i);
    else if (d->coding == HR_DICOM_CODING_RLE)
        HR_TRY(read_rle(d, i, c->arena, &s, error));
    else
        HR_TRY(read_coded(d, i, c, &s, error));
    if (d->samples == 3)
        put_colours(d, &s, dst);
    else if (strcmp(d->photometric, "PALETTE COLOR") == 0)
        put_palette(d, &s, dst);
    else
        put_grey(d, &s, dst);
    return HR_STATUS_OK;
}
