/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* IMA and Microsoft's ADPCM as in WAV files, and IMA as in AIFC files of Apple ("ima4"). A block
 * begins with the state of each channel. */
#include "codecs/audio/adpcm.h"

#include "codecs/bytes.h"

#include <string.h>

enum { IMA_STEPS = 89, QT_BYTES = 34, QT_FRAMES = 64 };

int64_t hr_adpcm_block_frames(hr_audio_code code, int32_t channels, size_t bytes)
{
    const size_t n = (size_t)channels;
    switch (code) {
    case HR_AUDIO_CODE_IMA: /* then four bytes of each channel in turn */
        return bytes < 4 * n ? 0 : 1 + (int64_t)((bytes - 4 * n) / (4 * n)) * 8;
    case HR_AUDIO_CODE_MS: /* then half bytes of each channel in turn */
        return bytes < 7 * n ? 0 : 2 + (int64_t)((bytes - 7 * n) * 2 / n);
    case HR_AUDIO_CODE_IMA_QT:
        return bytes < QT_BYTES * n ? 0 : QT_FRAMES;
    default:
        return 0;
    }
}

static int32_t clamp16(int32_t v)
{
    return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
}

/* ---- IMA ---- */

static const int16_t ima_steps[IMA_STEPS] = {
    7,     8,     9,     10,    11,    12,    13,    14,    16,    17,    19,   21,    23,
    25,    28,    31,    34,    37,    41,    45,    50,    55,    60,    66,   73,    80,
    88,    97,    107,   118,   130,   143,   157,   173,   190,   209,   230,  253,   279,
    307,   337,   371,   408,   449,   494,   544,   598,   658,   724,   796,  876,   963,
    1060,  1166,  1282,  1411,  1552,  1707,  1878,  2066,  2272,  2499,  2749, 3024,  3327,
    3660,  4026,  4428,  4871,  5358,  5894,  6484,  7132,  7845,  8630,  9493, 10442, 11487,
    12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};

typedef struct ima_state {
    int32_t value, index;
} ima_state;

static int16_t ima_next(ima_state *s, uint32_t code)
{
    static const int8_t moves[8] = {-1, -1, -1, -1, 2, 4, 6, 8};
    const int32_t step = ima_steps[s->index];
    int32_t d = step >> 3;
    d += code & 4 ? step : 0;
    d += code & 2 ? step >> 1 : 0;
    d += code & 1 ? step >> 2 : 0;
    s->value = clamp16(code & 8 ? s->value - d : s->value + d);
    s->index += moves[code & 7];
    s->index = s->index < 0 ? 0 : HR_MIN(s->index, IMA_STEPS - 1);
    return (int16_t)s->value;
}

static bool ima_block(const uint8_t *b, int64_t frames, int32_t channels, int16_t *dst)
{
    for (int32_t k = 0; k < channels; k++) {
        ima_state s = {(int16_t)hr_get_le16(b + 4 * k), b[4 * k + 2]};
        const uint8_t *codes = b + 4 * (channels + k);
        if (s.index >= IMA_STEPS)
            return false;
        dst[k] = (int16_t)s.value;
        for (int64_t i = 1; i < frames; i++) {
            const int64_t n = i - 1; /* eight codes in four bytes, then the other channels */
            const uint8_t pair = codes[n / 8 * 4 * channels + n % 8 / 2];
            dst[i * channels + k] = ima_next(&s, n % 2 ? pair >> 4 : pair & 15);
        }
    }
    return true;
}

/* The upper 9 bits of the value, and the index, are in front of each channel of each block. */
static bool qt_block(const uint8_t *b, int64_t frames, int32_t channels, int16_t *dst)
{
    for (int32_t k = 0; k < channels; k++, b += QT_BYTES) {
        const uint32_t head = hr_get_be16(b);
        ima_state s = {(int16_t)(head & 0xFF80), (int32_t)(head & 0x7F)};
        if (s.index >= IMA_STEPS)
            return false;
        for (int64_t i = 0; i < frames; i++)
            dst[i * channels + k] = ima_next(&s, i % 2 ? b[2 + i / 2] >> 4 : b[2 + i / 2] & 15);
    }
    return true;
}

/* ---- Microsoft ---- */

const int16_t hr_adpcm_ms_weights[HR_ADPCM_MS_PREDICTORS][2] = {
    {256, 0}, {512, -256}, {0, 0}, {192, 64}, {240, 0}, {460, -208}, {392, -232}};

static int16_t ms_next(const int16_t *weights, int32_t *delta, const int16_t *last,
                       const int16_t *before, uint32_t code)
{
    static const int16_t moves[16] = {230, 230, 230, 230, 307, 409, 512, 614,
                                      768, 614, 512, 409, 307, 230, 230, 230};
    const int32_t sign = (int32_t)code - (code & 8 ? 16 : 0);
    const int32_t predicted = (*last * weights[0] + *before * weights[1]) >> 8;
    const int64_t value = predicted + (int64_t)sign * *delta;
    const int64_t next = (int64_t)*delta * moves[code] >> 8;
    *delta = (int32_t)(next < 16 ? 16 : HR_MIN(next, INT32_MAX / 768));
    return (int16_t)(value < INT16_MIN ? INT16_MIN : HR_MIN(value, INT16_MAX));
}

static bool ms_block(const uint8_t *b, int64_t frames, int32_t channels, int16_t *dst)
{
    const uint8_t *codes = b + 7 * channels;
    for (int32_t k = 0; k < channels; k++) {
        const uint8_t *state = b + channels + 2 * k;
        int32_t delta = (int16_t)hr_get_le16(state);
        if (b[k] >= HR_ADPCM_MS_PREDICTORS || delta < 0)
            return false;
        dst[channels + k] = (int16_t)hr_get_le16(state + 2 * channels);
        dst[k] = (int16_t)hr_get_le16(state + 4 * channels);
        for (int64_t i = 2; i < frames; i++) {
            const int64_t n = (i - 2) * channels + k;
            int16_t *to = dst + i * channels + k;
            *to = ms_next(hr_adpcm_ms_weights[b[k]], &delta, to - channels, to - 2 * channels,
                          n % 2 ? codes[n / 2] & 15 : codes[n / 2] >> 4);
        }
    }
    return true;
}

/* ---- any ---- */

/* The first `frames` frames of a block. */
static bool decode_block(const hr_audio *a, const uint8_t *b, int64_t frames, int16_t *dst)
{
    return a->code == HR_AUDIO_CODE_IMA  ? ima_block(b, frames, a->channels, dst)
           : a->code == HR_AUDIO_CODE_MS ? ms_block(b, frames, a->channels, dst)
                                         : qt_block(b, frames, a->channels, dst);
}

hr_status hr_adpcm_decode(const hr_audio *audio, const uint8_t *src, int64_t first, int64_t count,
                          int16_t *dst, hr_arena *arena, hr_error *error)
{
    const size_t block = (size_t)audio->block_bytes, channels = (size_t)audio->channels;
    const int64_t each = audio->block_frames;
    int16_t *room = hr_arena_alloc(arena, (size_t)each * channels * sizeof(*room), error);
    if (!room)
        return HR_STATUS_NO_MEMORY;
    for (int64_t done = 0; done < count;) {
        const int64_t number = (first + done) / each, skip = (first + done) % each;
        const size_t at = (size_t)number * block;
        const size_t bytes = (size_t)HR_MIN(audio->length - at, (uint64_t)block);
        const int64_t frames = hr_adpcm_block_frames(audio->code, audio->channels, bytes);
        const int64_t n = HR_MIN(frames - skip, count - done);
        if (n <= 0 || !decode_block(audio, src + at, HR_MIN(frames, each), room))
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "%s: the ADPCM block %lld of the samples is damaged", audio->format,
                           (long long)number);
        memcpy(dst + (size_t)done * channels, room + (size_t)skip * channels,
               (size_t)n * channels * sizeof(*dst));
        done += n;
    }
    return HR_STATUS_OK;
}
