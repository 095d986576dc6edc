/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conversion of samples, block by block: integers through INT32, whose highest bits they fill, and
 * floats through FLOAT64. */
#include "codecs/audio/audio.h"

#include "codecs/bytes.h"

#include <string.h>

enum { BLOCK = 1024 };

/* ---- integers ---- */

/* G.711: a sign, three bits of exponent and four of mantissa. */
static int32_t from_ulaw(uint8_t code)
{
    uint32_t v = (uint32_t)code ^ 0xFF, exponent = v >> 4 & 7;
    int32_t size = (int32_t)((((v & 15) << 3) + 132) << exponent) - 132;
    return code & 0x80 ? size : -size;
}

static int32_t from_alaw(uint8_t code)
{
    uint32_t v = (uint32_t)code ^ 0x55, exponent = v >> 4 & 7;
    uint32_t mantissa = ((v & 15) << 4) + 8;
    int32_t size = (int32_t)(exponent == 0 ? mantissa : (mantissa + 256) << (exponent - 1));
    return v & 0x80 ? size : -size;
}

static void load_8(hr_audio_code code, const uint8_t *restrict src, size_t n, int32_t *restrict dst)
{
    if (code == HR_AUDIO_CODE_U8)
        for (size_t i = 0; i < n; i++)
            dst[i] = (int32_t)((uint32_t)(src[i] ^ 0x80) << 24);
    else if (code == HR_AUDIO_CODE_S8)
        for (size_t i = 0; i < n; i++)
            dst[i] = (int32_t)((uint32_t)src[i] << 24);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = (code == HR_AUDIO_CODE_ULAW ? from_ulaw(src[i]) : from_alaw(src[i])) * 65536;
}

static void load_16(bool big, const uint8_t *restrict src, size_t n, int32_t *restrict dst)
{
    if (big)
        for (size_t i = 0; i < n; i++)
            dst[i] = (int32_t)(hr_get_be16(src + 2 * i) << 16);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = (int32_t)(hr_get_le16(src + 2 * i) << 16);
}

/* Four bytes are read for three, except for the last sample, behind which nothing may follow. */
static void load_24(bool big, const uint8_t *restrict src, size_t n, int32_t *restrict dst)
{
    const uint8_t *last = src + 3 * (n - 1);
    if (big)
        for (size_t i = 0; i + 1 < n; i++)
            dst[i] = (int32_t)(hr_get_be32(src + 3 * i) & 0xFFFFFF00);
    else
        for (size_t i = 0; i + 1 < n; i++)
            dst[i] = (int32_t)(hr_get_le32(src + 3 * i) << 8);
    dst[n - 1] = (int32_t)((big ? hr_get_be16(last) << 8 | last[2]
                                : hr_get_le16(last) | (uint32_t)last[2] << 16)
                           << 8);
}

static void load_32(bool big, const uint8_t *restrict src, size_t n, uint32_t *restrict dst)
{
    if (big)
        for (size_t i = 0; i < n; i++)
            dst[i] = hr_get_be32(src + 4 * i);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = hr_get_le32(src + 4 * i);
}

static void store_integers(const int32_t *restrict src, size_t n, hr_dtype dtype, void *dst)
{
    if (dtype == HR_DTYPE_INT32) {
        memcpy(dst, src, n * sizeof(*src));
    } else if (dtype == HR_DTYPE_INT16) {
        int16_t *restrict out = dst;
        for (size_t i = 0; i < n; i++)
            out[i] = (int16_t)(src[i] >> 16);
    } else {
        float *restrict out = dst;
        for (size_t i = 0; i < n; i++)
            out[i] = (float)src[i] * 0x1p-31f;
    }
}

static void read_integers(const hr_audio *a, const uint8_t *src, size_t n, hr_dtype dtype,
                          void *dst)
{
    int32_t block[BLOCK];
    if (a->code == HR_AUDIO_CODE_S24)
        load_24(a->big_endian, src, n, block);
    else if (a->code == HR_AUDIO_CODE_S16)
        load_16(a->big_endian, src, n, block);
    else if (a->code == HR_AUDIO_CODE_S32)
        load_32(a->big_endian, src, n, (uint32_t *)block);
    else
        load_8(a->code, src, n, block);
    store_integers(block, n, dtype, dst);
}

/* ---- floats ---- */

static void load_floats(const hr_audio *a, const uint8_t *src, size_t n, double *dst)
{
    for (size_t i = 0; i < n; i++) {
        if (a->code == HR_AUDIO_CODE_F32) {
            uint32_t bits = a->big_endian ? hr_get_be32(src + 4 * i) : hr_get_le32(src + 4 * i);
            float v;
            memcpy(&v, &bits, sizeof(v));
            dst[i] = (double)v;
        } else {
            const uint8_t *p = src + 8 * i;
            uint64_t bits = a->big_endian ? (uint64_t)hr_get_be32(p) << 32 | hr_get_be32(p + 4)
                                          : (uint64_t)hr_get_le32(p + 4) << 32 | hr_get_le32(p);
            memcpy(&dst[i], &bits, sizeof(dst[i]));
        }
    }
}

/* The nearest integer, halves to even; what does not fit, and NaN, becomes the smallest one. */
static int32_t nearest(double v)
{
    const double magic = 0x1.8p52;
    if (!(v > -2147483648.5 && v < 2147483647.5))
        return INT32_MIN;
    return (int32_t)(v + magic - magic);
}

/* As libsndfile, INT16 keeps the lowest bits of a number that does not fit. */
static void read_floats(const hr_audio *a, const uint8_t *src, size_t n, hr_dtype dtype, void *dst)
{
    double block[BLOCK];
    load_floats(a, src, n, block);
    for (size_t i = 0; i < n; i++) {
        if (dtype == HR_DTYPE_FLOAT)
            ((float *)dst)[i] = (float)block[i];
        else if (dtype == HR_DTYPE_INT32)
            ((int32_t *)dst)[i] = nearest(block[i]);
        else
            ((int16_t *)dst)[i] = (int16_t)(uint16_t)((uint32_t)nearest(block[i]) & 0xFFFF);
    }
}

/* ---- any ---- */

void hr_audio_read(const hr_audio *audio, const hr_kernels *kernels, const uint8_t *src,
                   size_t count, hr_dtype dtype, void *dst)
{
    bool is_float = audio->code == HR_AUDIO_CODE_F32 || audio->code == HR_AUDIO_CODE_F64;
    size_t item = audio->frame_bytes / (size_t)audio->channels, size = hr_dtype_size(dtype);
    bool plain_order = audio->big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    bool plain = plain_order && size == item;
    if (count == 0)
        return;
    if (plain && ((audio->code == HR_AUDIO_CODE_F32 && dtype == HR_DTYPE_FLOAT) ||
                  (!is_float && dtype != HR_DTYPE_FLOAT))) {
        memcpy(dst, src, count * size);
        return;
    }
    if (audio->code == HR_AUDIO_CODE_S16 && plain_order && dtype == HR_DTYPE_FLOAT) {
        kernels->sound_16(dst, src, count);
        return;
    }
    if (audio->code == HR_AUDIO_CODE_S32 && plain_order && dtype == HR_DTYPE_FLOAT) {
        kernels->sound_32(dst, src, count);
        return;
    }
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = HR_MIN(count - at, (size_t)BLOCK);
        char *to = (char *)dst + at * size;
        if (is_float)
            read_floats(audio, src + at * item, n, dtype, to);
        else
            read_integers(audio, src + at * item, n, dtype, to);
    }
}

void hr_audio_downmix(const float *restrict src, size_t frames, int32_t channels,
                      float *restrict dst)
{
    const float weight = 1.0f / (float)channels;
    const size_t n = (size_t)channels;
    for (size_t i = 0; i < frames; i++) {
        float sum = src[i * n] * weight;
        for (size_t k = 1; k < n; k++)
            sum += src[i * n + k] * weight;
        dst[i] = sum;
    }
}

void hr_audio_scale(const float *src, size_t count, hr_dtype dtype, void *dst)
{
    const double top = dtype == HR_DTYPE_INT16 ? 32767.0 : 2147483647.0;
    if (dtype == HR_DTYPE_FLOAT) {
        memcpy(dst, src, count * sizeof(*src));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        double v = hr_round((double)(src[i] * (float)top));
        v = v >= top ? top : v >= -top - 1 ? v : -top - 1; /* NaN becomes the smallest number */
        if (dtype == HR_DTYPE_INT16)
            ((int16_t *)dst)[i] = src[i] != src[i] ? 0 : (int16_t)v;
        else
            ((int32_t *)dst)[i] = (int32_t)v;
    }
}
