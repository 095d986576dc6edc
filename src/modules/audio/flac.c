/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* FLAC, also in Ogg, through libFLAC. */
#include "modules/audio/decoders.h"

#include <stdlib.h>
#include <string.h>

#include <FLAC/stream_decoder.h>

typedef struct flac {
    hr_audio_job *job;
    size_t at;
    uint64_t total; /* frames of the stream; 0: not stated */
    int64_t decoded;
    bool failed;
} flac;

/* A decoder that was used for a file without damage, or NULL; `f` is what its functions get. */
struct hr_flac_kept {
    flac f;
    FLAC__StreamDecoder *decoder;
};

static FLAC__StreamDecoderReadStatus on_read(const FLAC__StreamDecoder *decoder, FLAC__byte *dst,
                                             size_t *size, void *user)
{
    flac *f = user;
    size_t left = f->job->size - f->at, n = *size < left ? *size : left;
    (void)decoder;
    *size = n;
    if (n == 0)
        return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    memcpy(dst, f->job->bytes + f->at, n);
    f->at += n;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

static FLAC__StreamDecoderSeekStatus on_seek(const FLAC__StreamDecoder *decoder, FLAC__uint64 at,
                                             void *user)
{
    flac *f = user;
    (void)decoder;
    if (at > f->job->size)
        return FLAC__STREAM_DECODER_SEEK_STATUS_ERROR;
    f->at = (size_t)at;
    return FLAC__STREAM_DECODER_SEEK_STATUS_OK;
}

static FLAC__StreamDecoderTellStatus on_tell(const FLAC__StreamDecoder *decoder, FLAC__uint64 *at,
                                             void *user)
{
    (void)decoder;
    *at = ((flac *)user)->at;
    return FLAC__STREAM_DECODER_TELL_STATUS_OK;
}

static FLAC__StreamDecoderLengthStatus on_length(const FLAC__StreamDecoder *decoder,
                                                 FLAC__uint64 *size, void *user)
{
    (void)decoder;
    *size = ((flac *)user)->job->size;
    return FLAC__STREAM_DECODER_LENGTH_STATUS_OK;
}

static FLAC__bool on_eof(const FLAC__StreamDecoder *decoder, void *user)
{
    const flac *f = user;
    (void)decoder;
    return f->at >= f->job->size;
}

static void interleave(const FLAC__int32 *const *planes, uint32_t channels, int64_t n,
                       uint32_t shift, int32_t *restrict dst)
{
    const FLAC__int32 *restrict first = planes[0], *restrict second = planes[channels - 1];
    if (channels == 1)
        for (int64_t i = 0; i < n; i++)
            dst[i] = (int32_t)((uint32_t)first[i] << shift);
    else if (channels == 2)
        for (int64_t i = 0; i < n; i++) {
            dst[2 * i] = (int32_t)((uint32_t)first[i] << shift);
            dst[2 * i + 1] = (int32_t)((uint32_t)second[i] << shift);
        }
    else
        for (uint32_t k = 0; k < channels; k++)
            for (int64_t i = 0; i < n; i++)
                dst[i * channels + k] = (int32_t)((uint32_t)planes[k][i] << shift);
}

/* Keeps a block of the stream, whose samples fill the highest bits. */
static FLAC__StreamDecoderWriteStatus on_write(const FLAC__StreamDecoder *decoder,
                                               const FLAC__Frame *frame,
                                               const FLAC__int32 *const planes[], void *user)
{
    flac *f = user;
    hr_audio_job *job = f->job;
    uint32_t channels = frame->header.channels, bits = frame->header.bits_per_sample;
    int64_t n = frame->header.blocksize;
    (void)decoder;
    if (job->channels == 0 || channels != (uint32_t)job->channels || bits < 4 || bits > 32) {
        f->failed = true;
        hr__audio_fail(job, "a block of %u channels with %u bits does not fit the stream", channels,
                       bits);
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    int32_t *room = hr__audio_room(job, n);
    if (!room) {
        f->failed = true;
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    interleave(planes, channels, n, 32 - bits, room);
    f->decoded += n;
    hr__audio_keep(job, n);
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void on_metadata(const FLAC__StreamDecoder *decoder, const FLAC__StreamMetadata *block,
                        void *user)
{
    flac *f = user;
    (void)decoder;
    if (block->type != FLAC__METADATA_TYPE_STREAMINFO)
        return;
    const FLAC__StreamMetadata_StreamInfo *info = &block->data.stream_info;
    f->total = info->total_samples;
    f->failed = !hr__audio_begin(f->job, info->channels, info->sample_rate, false);
    if (f->total > 0 && f->total < (uint64_t)INT64_MAX) { /* tags may follow the last frame */
        int64_t left = (int64_t)f->total - f->job->skip;
        left = left > 0 ? left : 0;
        f->job->most = left < f->job->most ? left : f->job->most;
        hr__audio_expect(f->job, left);
    }
}

static void on_error(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus status,
                     void *user)
{
    flac *f = user;
    (void)decoder;
    (void)status;
    if (!f->failed)
        hr__audio_fail(f->job, "the stream is damaged after %lld frames", (long long)f->decoded);
    f->failed = true;
}

static bool begin(flac *f, FLAC__StreamDecoder *d)
{
    hr_audio_job *job = f->job;
    FLAC__StreamDecoderInitStatus begun =
        job->coding == HR_AUDIO_CODING_FLAC
            ? FLAC__stream_decoder_init_stream(d, on_read, on_seek, on_tell, on_length, on_eof,
                                               on_write, on_metadata, on_error, f)
            : FLAC__stream_decoder_init_ogg_stream(d, on_read, on_seek, on_tell, on_length, on_eof,
                                                   on_write, on_metadata, on_error, f);
    if (begun != FLAC__STREAM_DECODER_INIT_STATUS_OK)
        return hr__audio_fail(job, "libFLAC: %s", FLAC__StreamDecoderInitStatusString[begun]);
    return true;
}

static bool run(flac *f, FLAC__StreamDecoder *d)
{
    hr_audio_job *job = f->job;
    if (!FLAC__stream_decoder_process_until_end_of_metadata(d) || f->failed || job->channels == 0)
        return f->failed ? false : hr__audio_fail(job, "the header is damaged");
    int64_t skip = job->skip;
    if (f->total > 0 && (uint64_t)skip >= f->total)
        return (uint64_t)skip == f->total ||
               hr__audio_fail(job, "the offset of %g s is beyond the end of the sound",
                              job->offset);
    if (skip > 0) {
        job->skip = 0; /* libFLAC delivers the block from there on */
        if (!FLAC__stream_decoder_seek_absolute(d, (FLAC__uint64)skip))
            return f->failed ? false
                             : hr__audio_fail(job, "frame %lld is not found", (long long)skip);
        f->decoded += skip;
    }
    while (hr__audio_wants(job) && !f->failed) {
        if (!FLAC__stream_decoder_process_single(d))
            return f->failed ? false : hr__audio_fail(job, "the stream is damaged");
        if (FLAC__stream_decoder_get_state(d) == FLAC__STREAM_DECODER_END_OF_STREAM)
            break;
    }
    if (!f->failed && hr__audio_wants(job) && f->total > 0)
        return hr__audio_fail(job, "the file is cut: %lld of %llu frames are there",
                              (long long)f->decoded, (unsigned long long)f->total);
    return !f->failed;
}

static void drop(struct hr_flac_kept *k)
{
    if (k->decoder)
        FLAC__stream_decoder_delete(k->decoder);
    k->decoder = NULL;
}

void hr__flac_kept_destroy(struct hr_flac_kept *k)
{
    if (!k)
        return;
    drop(k);
    free(k);
}

/* A decoder is kept if it has read a file from its beginning up to the last frame that was wanted:
 * libFLAC's reset then leaves nothing of that file behind. */
bool hr__flac_decode(hr_audio_job *job)
{
    hr_audio_kept *kept = *job->kept;
    bool plain = job->coding == HR_AUDIO_CODING_FLAC && !(job->offset > 0);
    if (!kept->flac && !(kept->flac = calloc(1, sizeof(*kept->flac))))
        return hr__audio_fail(job, "out of memory for a decoder");
    struct hr_flac_kept *k = kept->flac;
    k->f = (flac){.job = job};
    if (k->decoder && !(plain && FLAC__stream_decoder_reset(k->decoder)))
        drop(k);
    bool begun = k->decoder != NULL;
    if (!begun && !(k->decoder = FLAC__stream_decoder_new()))
        return hr__audio_fail(job, "out of memory for a decoder");
    bool done = (begun || begin(&k->f, k->decoder)) && run(&k->f, k->decoder);
    if (!done || !plain || hr__audio_wants(job))
        drop(k);
    if (done)
        job->skip = 0;
    return done;
}

const char *hr__flac_version(void)
{
    return FLAC__VERSION_STRING;
}
