/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.audio: samples of sound files. */
#include "ops/decoders/sound.h"

typedef struct audio_args {
    int32_t downmix, dtype, lowpass;
    float sample_rate, quality;
} audio_args;

static hr_sound_options options_of(const hr_op_call *c)
{
    const audio_args *a = c->args;
    return (hr_sound_options){.dtype = (hr_dtype)a->dtype,
                              .downmix = a->downmix != 0,
                              .lowpass = a->lowpass != 0,
                              .rate = a->sample_rate,
                              .resampler = c->state,
                              .kernels = c->kernels};
}

static hr_status audio_check(const void *args, const hr_given *given, hr_error *error)
{
    hr_sound_options options = {.dtype = (hr_dtype)((const audio_args *)args)->dtype};
    (void)given;
    return hr__sound_check(&options, error);
}

static void audio_destroy(void *state)
{
    hr_free(((hr_resampler *)state)->memory);
    hr_free(state);
}

static hr_status audio_create(const void *args, void **state, hr_error *error)
{
    hr_resampler *r = hr_calloc(1, sizeof(*r), error);
    HR_TRY_ALLOC(r);
    *state = r;
    hr_status status = hr__resampler_init(r, (double)((const audio_args *)args)->quality, error);
    if (status != HR_STATUS_OK)
        hr_free(r);
    return status;
}

static hr_status audio_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const hr_sound_options options = options_of(c);
    hr_sound *sound = hr_arena_alloc(c->arena, sizeof(*sound), error);
    HR_TRY_ALLOC(sound);
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    HR_TRY(hr__sound_open(sound, c->local, in->data, (size_t)in->shape.extent[0], 0, -1, c->arena,
                          error));
    c->memo = sound;
    hr_tensor_describe(&c->out[1], HR_DTYPE_FLOAT, (hr_shape){0}, NULL);
    return hr__sound_describe(sound, &options, &c->out[0], error);
}

static hr_status audio_run(hr_op_call *c, hr_error *error)
{
    const hr_sound *sound = c->memo;
    const hr_sound_options options = options_of(c);
    hr_tensor *out = c->out;
    HR_TRY(hr__sound_run(sound, &options, out, c->arena, error));
    *(float *)out[1].data = options.rate > 0 ? options.rate : (float)sound->audio.rate;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_decoders_audio = {
    HR_OP("decoders.audio"),
    .doc = "Decodes audio files: WAV, RF64, W64, AIFF, AU, CAF, NIST SPHERE, VOC and rarer formats "
           "with integers of up to 32 bits, floats, mu-law, A-law or ADPCM; FLAC, Vorbis, Opus and "
           "MP3; AAC, and the sound of MP4, WebM, Matroska, FLV, AVI, MPEG-TS and MPEG program "
           "streams, with the package headrace-video. The outputs are the samples, of shape "
           "(frames, channels), and the sampling rate in Hz. A truncated WAV file gives the "
           "samples that it has.",
    .aliases = HR_NAMES("audio_decoder"),
    .devices = "cpu",
    HR_ARGS(
        audio_args,
        HR_ARG(audio_args, downmix, BOOL, 0, "False",
               "Mix the channels to one, their mean; the output is then 1-D."),
        HR_ARG(audio_args, dtype, DTYPE, 0, "FLOAT",
               "Type of the output: INT16, INT32 or FLOAT. Integers use the full range of their "
               "type, and FLOAT the range from -1 to 1."),
        HR_ARG(audio_args, lowpass, BOOL, 0, "False",
               "Not in DALI. When the resampling lowers the rate, remove the frequencies that the "
               "output cannot have, which would otherwise be heard as others (aliasing)."),
        HR_ARG(audio_args, quality, FLOAT, 0, "50.0",
               "Quality of the resampling: 0 is as good as 3 lobes of a sinc, 50 as 16, 100 as 64.",
               .min = 0, .max = 100),
        HR_ARG(audio_args, sample_rate, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
               "Sampling rate of the output in Hz; 0: that of the file.", .min = 0, .max = 1e9)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"audio"}, {"sample_rate"}),
    .check = audio_check,
    .create = audio_create,
    .destroy = audio_destroy,
    .local_create = hr__sound_local_create,
    .local_destroy = hr__sound_local_destroy,
    .infer = audio_infer,
    .run = audio_run,
};
