/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/decoders/sound.h"

#include "codecs/audio/adpcm.h"

enum { PART = 4096 }; /* samples that are mixed at once, so that they stay in the cache */

/* Output of files that are not compressed, or as ADPCM: FLOAT at 192 kHz is 384 times as long as
 * ADPCM at 4 kHz. */
#define STORED ((uint64_t)64 << 20)
#define STORED_PER_BYTE 1024

hr_status hr__sound_check(const hr_sound_options *options, hr_error *error)
{
    hr_dtype d = options->dtype;
    if (d == HR_DTYPE_INT16 || d == HR_DTYPE_INT32 || d == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "dtype must be INT16, INT32 or FLOAT, but it is %s",
                   hr_dtype_name(d));
}

/* Seconds as frames, cut to what the file has. */
static int64_t frames_of(double seconds, const hr_audio *a)
{
    double frames = seconds * a->rate;
    return frames >= (double)a->frames ? a->frames : (int64_t)frames;
}

hr_status hr__sound_select(hr_sound *sound, double offset, double duration, int64_t *start,
                           hr_error *error)
{
    const hr_audio *a = &sound->audio;
    int64_t first = offset > 0 ? frames_of(offset, a) : 0;
    if (first > 0 && offset * a->rate >= (double)a->frames + 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the offset of %g s is beyond the end of the sound, which has %lld frames "
                       "of %d Hz",
                       offset, (long long)a->frames, a->rate);
    sound->frames = a->frames - first;
    if (duration >= 0)
        sound->frames = HR_MIN(sound->frames, frames_of(duration, a));
    *start = first;
    return HR_STATUS_OK;
}

hr_status hr__sound_local_create(const void *args, void *state, void **local, hr_error *error)
{
    (void)args;
    (void)state;
    *local = hr_calloc(1, sizeof(hr_sound_local), error);
    return *local ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr__sound_local_destroy(void *local)
{
    hr_audio_coded_forget(((hr_sound_local *)local)->kept);
    hr_free(local);
}

static hr_status open_coded(hr_sound *sound, hr_audio_job *job, hr_arena *arena, hr_error *error)
{
    HR_TRY(hr_audio_coded_decode(job, arena, error));
    sound->audio = (hr_audio){.code = job->is_float ? HR_AUDIO_CODE_F32 : HR_AUDIO_CODE_S32,
                              .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
                              .channels = job->channels,
                              .rate = job->rate,
                              .frames = job->frames,
                              .frame_bytes = sizeof(float) * (size_t)job->channels};
    sound->samples = job->samples;
    sound->frames = job->frames;
    sound->scaled = job->is_float;
    sound->limit = job->limit;
    return HR_STATUS_OK;
}

/* Decodes the part of a file of ADPCM. */
static hr_status open_blocks(hr_sound *sound, const uint8_t *bytes, int64_t first, hr_arena *arena,
                             hr_error *error)
{
    hr_audio *a = &sound->audio;
    int16_t *samples = hr_arena_alloc(arena, (size_t)sound->frames * a->frame_bytes, error);
    HR_TRY_ALLOC(samples);
    HR_TRY(hr_adpcm_decode(a, bytes, first, sound->frames, samples, arena, error));
    a->code = HR_AUDIO_CODE_S16;
    a->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    sound->samples = (const uint8_t *)samples;
    return HR_STATUS_OK;
}

hr_status hr__sound_open(hr_sound *sound, hr_sound_local *local, const uint8_t *bytes, size_t size,
                         double offset, double duration, hr_arena *arena, hr_error *error)
{
    size_t start;
    const hr_audio_coding coding = hr_audio_coding_of(bytes, size, &start);
    hr_audio_job job = {.bytes = bytes + start,
                        .size = size - start,
                        .coding = coding,
                        .offset = offset,
                        .duration = duration,
                        .kept = local ? &local->kept : NULL};
    int64_t first = 0;
    *sound = (hr_sound){.file_size = size};
    if (coding != HR_AUDIO_CODING_NONE)
        return open_coded(sound, &job, arena, error);
    HR_TRY(hr_audio_open(bytes, size, size, &sound->audio, error));
    HR_TRY(hr__sound_select(sound, offset, duration, &first, error));
    bytes += sound->audio.offset;
    if (sound->audio.block_bytes > 0)
        return open_blocks(sound, bytes, first, arena, error);
    sound->samples = bytes + (size_t)first * sound->audio.frame_bytes;
    return HR_STATUS_OK;
}

static bool resamples(const hr_sound *sound, const hr_sound_options *options)
{
    return options->rate > 0 && options->rate != (float)sound->audio.rate;
}

/* Bytes that the output may have. A header that states a rate of 1 Hz would make it 48000 times as
 * long as the file. */
static uint64_t limit_of(const hr_sound *sound)
{
    if (sound->limit > 0)
        return sound->limit;
    return sound->file_size > (INT64_MAX - STORED) / STORED_PER_BYTE
               ? INT64_MAX
               : STORED + sound->file_size * STORED_PER_BYTE;
}

hr_status hr__sound_describe(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                             hr_error *error)
{
    hr_shape shape = {options->downmix ? 1 : 2, {sound->frames, sound->audio.channels}};
    const uint64_t limit = limit_of(sound);
    size_t bytes;
    if (resamples(sound, options))
        shape.extent[0] = hr__resampled(sound->frames, sound->audio.rate, (double)options->rate);
    hr_tensor_describe(out, options->dtype, shape, NULL);
    if (!hr_tensor_bytes(out, &bytes) || bytes > limit)
        return hr_fail(
            error, HR_STATUS_LIMIT,
            "the sound of %lld frames at %d Hz, which is %g Hz in the output, would need "
            "more than %llu bytes, too much for a file of %llu bytes",
            (long long)sound->frames, sound->audio.rate,
            resamples(sound, options) ? (double)options->rate : (double)sound->audio.rate,
            (unsigned long long)limit, (unsigned long long)sound->file_size);
    return HR_STATUS_OK;
}

/* By way of floats from -1 to 1. Channels are mixed if `downmix` is set. Floats are scaled to the
 * range of integers in the end. */
static hr_status by_floats(const hr_sound *sound, const hr_sound_options *options, bool downmix,
                           hr_dtype dtype, char *dst, hr_arena *arena, hr_error *error)
{
    const hr_audio *a = &sound->audio;
    size_t channels = (size_t)a->channels, most = HR_MAX(PART / channels, 1);
    size_t size = hr_dtype_size(dtype);
    float *all = hr_arena_alloc(arena, most * channels * sizeof(*all), error);
    float *mixed = hr_arena_alloc(arena, most * sizeof(*mixed), error);
    HR_TRY_ALLOC(all && mixed);
    for (size_t at = 0, n; at < (size_t)sound->frames; at += n) {
        n = HR_MIN((size_t)sound->frames - at, most);
        hr_audio_read(a, options->kernels, sound->samples + at * a->frame_bytes, n * channels,
                      HR_DTYPE_FLOAT, all);
        if (downmix) {
            hr_audio_downmix(all, n, a->channels, mixed);
            hr_audio_scale(mixed, n, dtype, dst + at * size);
        } else {
            hr_audio_scale(all, n * channels, dtype, dst + at * channels * size);
        }
    }
    return HR_STATUS_OK;
}

static hr_status resample(const hr_sound *sound, const hr_sound_options *options, bool downmix,
                          hr_tensor *out, hr_arena *arena, hr_error *error)
{
    const hr_audio *a = &sound->audio;
    const int64_t count = out->shape.extent[0];
    const int32_t channels = downmix ? 1 : a->channels;
    const double step = (double)a->rate / (double)options->rate;
    size_t in = (size_t)(sound->frames * channels), values = (size_t)(count * channels);
    float *src = hr_arena_alloc(arena, in * sizeof(*src), error);
    float *dst = out->dtype == HR_DTYPE_FLOAT ? out->data
                                              : hr_arena_alloc(arena, values * sizeof(*dst), error);
    hr_sinc_filter filter;
    HR_TRY_ALLOC(src && dst);
    HR_TRY(by_floats(sound, options, downmix, HR_DTYPE_FLOAT, (char *)src, arena, error));
    HR_TRY(hr__resampler_filter(options->resampler, options->lowpass, step, arena, &filter, error));
    for (int32_t k = 0; k < channels; k++)
        HR_TRY(hr__resample(&filter, options->kernels, src, sound->frames, channels, k, step, dst,
                            count, arena, error));
    if (out->dtype != HR_DTYPE_FLOAT)
        hr_audio_scale(dst, values, out->dtype, out->data);
    return HR_STATUS_OK;
}

hr_status hr__sound_run(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                        hr_arena *arena, hr_error *error)
{
    size_t count = (size_t)sound->frames * (size_t)sound->audio.channels;
    bool downmix = options->downmix && sound->audio.channels > 1;
    if (count == 0)
        return HR_STATUS_OK;
    if (resamples(sound, options))
        return resample(sound, options, downmix, out, arena, error);
    if (downmix || (sound->scaled && options->dtype != HR_DTYPE_FLOAT))
        return by_floats(sound, options, downmix, options->dtype, out->data, arena, error);
    hr_audio_read(&sound->audio, options->kernels, sound->samples, count, options->dtype,
                  out->data);
    return HR_STATUS_OK;
}
