/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/decoders/sound.h"

enum { PART = 4096 }; /* samples that are mixed at once, so that they stay in the cache */

hr_status hr__sound_check(const hr_sound_options *options, hr_error *error)
{
    hr_dtype d = options->dtype;
    if (d == HR_DTYPE_INT16 || d == HR_DTYPE_INT32 || d == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "dtype must be INT16, INT32 or FLOAT, but it is %s",
                   hr_dtype_name(d));
}

hr_status hr__sound_describe(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                             hr_error *error)
{
    hr_shape shape = {options->downmix ? 1 : 2, {sound->frames, sound->audio.channels}};
    if (options->rate > 0 && options->rate != (float)sound->audio.rate)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the sound has a rate of %d Hz; resampling to %g Hz is not supported",
                       sound->audio.rate, (double)options->rate);
    hr_tensor_describe(out, options->dtype, shape, NULL);
    return HR_STATUS_OK;
}

/* Channels are mixed as floats, which are scaled to the range of integers in the end. */
static hr_status mix(const hr_sound *sound, hr_dtype dtype, char *dst, hr_arena *arena,
                     hr_error *error)
{
    const hr_audio *a = &sound->audio;
    size_t channels = (size_t)a->channels, most = HR_MAX(PART / channels, 1);
    size_t size = hr_dtype_size(dtype);
    float *all = hr_arena_alloc(arena, most * channels * sizeof(*all), error);
    float *mixed = hr_arena_alloc(arena, most * sizeof(*mixed), error);
    if (!all || !mixed)
        return HR_STATUS_NO_MEMORY;
    for (size_t at = 0, n; at < (size_t)sound->frames; at += n) {
        n = HR_MIN((size_t)sound->frames - at, most);
        hr_audio_read(a, sound->samples + at * a->frame_bytes, n * channels, HR_DTYPE_FLOAT, all);
        hr_audio_downmix(all, n, a->channels, mixed);
        hr_audio_scale(mixed, n, dtype, dst + at * size);
    }
    return HR_STATUS_OK;
}

hr_status hr__sound_run(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                        hr_arena *arena, hr_error *error)
{
    size_t count = (size_t)sound->frames * (size_t)sound->audio.channels;
    if (count == 0)
        return HR_STATUS_OK;
    if (options->downmix && sound->audio.channels > 1)
        return mix(sound, options->dtype, out->data, arena, error);
    hr_audio_read(&sound->audio, sound->samples, count, options->dtype, out->data);
    return HR_STATUS_OK;
}
