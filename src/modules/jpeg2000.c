/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_jpeg2000.so: decodes codestreams with OpenJPEG. */
#include "codecs/jpeg2000/module.h"

#include <stdio.h>
#include <string.h>

#include <openjpeg.h>

enum { BUFFER = 1 << 16 };

/* ---- the codestream as a stream of OpenJPEG ---- */

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at;
} reader;

static OPJ_SIZE_T on_read(void *dst, OPJ_SIZE_T count, void *user)
{
    reader *r = user;
    size_t n = r->size - r->at < count ? r->size - r->at : count;
    if (n == 0)
        return (OPJ_SIZE_T)-1;
    memcpy(dst, r->bytes + r->at, n);
    r->at += n;
    return n;
}

static OPJ_OFF_T on_skip(OPJ_OFF_T count, void *user)
{
    reader *r = user;
    if (count < 0)
        return -1;
    size_t left = r->size - r->at, n = (uint64_t)count < left ? (size_t)count : left;
    r->at += n;
    return n > 0 || count == 0 ? (OPJ_OFF_T)n : -1;
}

static OPJ_BOOL on_seek(OPJ_OFF_T at, void *user)
{
    reader *r = user;
    if (at < 0 || (uint64_t)at > r->size)
        return OPJ_FALSE;
    r->at = (size_t)at;
    return OPJ_TRUE;
}

static opj_stream_t *make_stream(reader *r)
{
    opj_stream_t *stream = opj_stream_create(r->size < BUFFER ? r->size : BUFFER, OPJ_TRUE);
    if (!stream)
        return NULL;
    opj_stream_set_user_data(stream, r, NULL);
    opj_stream_set_user_data_length(stream, r->size);
    opj_stream_set_read_function(stream, on_read);
    opj_stream_set_skip_function(stream, on_skip);
    opj_stream_set_seek_function(stream, on_seek);
    return stream;
}

/* ---- decoding ---- */

/* Keeps the first message, which names the cause, without the end of its line. */
static void on_error(const char *message, void *user)
{
    hr_jpeg2000_job *job = user;
    if (job->message[0])
        return;
    snprintf(job->message, sizeof job->message, "%s", message);
    job->message[strcspn(job->message, "\r\n")] = 0;
}

static void on_message(const char *message, void *user)
{
    (void)message;
    (void)user;
}

static bool read_planes(hr_jpeg2000_job *job, const opj_image_t *image)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const opj_image_comp_t *c = &image->comps[i];
        if (!c->data || c->w == 0 || c->h == 0) {
            on_error("a component was not decoded", job);
            return false;
        }
        job->planes[i] =
            (hr_jpeg2000_plane){.data = c->data, .x0 = c->x0, .y0 = c->y0, .w = c->w, .h = c->h};
    }
    return true;
}

static bool run(hr_jpeg2000_job *job, opj_codec_t *codec, opj_stream_t *stream)
{
    opj_dparameters_t parameters;
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(&parameters);
    opj_set_error_handler(codec, on_error, job);
    opj_set_warning_handler(codec, on_message, NULL);
    opj_set_info_handler(codec, on_message, NULL);
    if (!opj_setup_decoder(codec, &parameters) || !opj_read_header(stream, codec, &image))
        return false;
    job->image = image;
    if (image->numcomps != job->count) {
        on_error("the number of components is not clear", job);
        return false;
    }
    if (!job->whole && !opj_set_decode_area(codec, image, (OPJ_INT32)job->x0, (OPJ_INT32)job->y0,
                                            (OPJ_INT32)job->x1, (OPJ_INT32)job->y1))
        return false;
    return opj_decode(codec, stream, image) && read_planes(job, image);
}

static void release(hr_jpeg2000_job *job)
{
    if (job->image)
        opj_image_destroy(job->image);
    job->image = NULL;
}

static bool decode(hr_jpeg2000_job *job)
{
    reader r = {.bytes = job->bytes, .size = job->size};
    opj_codec_t *codec = opj_create_decompress(OPJ_CODEC_J2K);
    opj_stream_t *stream = make_stream(&r);
    bool done = codec && stream && run(job, codec, stream);
    if (stream)
        opj_stream_destroy(stream);
    if (codec)
        opj_destroy_codec(codec);
    if (done)
        return true;
    on_error("OpenJPEG cannot decode the codestream", job);
    release(job);
    return false;
}

const hr_jpeg2000_module_def *hr_jpeg2000_module(void)
{
    static const hr_jpeg2000_module_def module = {.abi = HR_JPEG2000_ABI_VERSION,
                                                  .struct_size = sizeof(hr_jpeg2000_module_def),
                                                  .version = opj_version,
                                                  .decode = decode,
                                                  .release = release};
    return &module;
}
