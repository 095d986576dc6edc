/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The sound of MP4, WebM and other containers: demuxers of libavformat, decoders of libavcodec. The
 * samples are those that libavcodec gives, without the ones that the container says to drop. */
#include "modules/video/sound.h"
#include "modules/audio/frames.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER = 1 << 15 };

/* Bytes of packets, which may overlap, and packets without samples: the time that it takes. */
#define PACKET_BYTES ((size_t)64 << 20)
#define PACKET_BYTES_PER_BYTE 16

typedef struct sound {
    hr_audio_job *job;
    size_t at;        /* where reading is */
    uint64_t fetched; /* bytes of packets */
    int64_t packets;  /* of the stream, so far */
    AVFormatContext *format;
    AVIOContext *io;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    const AVStream *stream;
    int32_t kind; /* enum AVSampleFormat of the first frame */
} sound;

static const enum AVCodecID codecs[] = {
    AV_CODEC_ID_AAC,       AV_CODEC_ID_AAC_LATM,  AV_CODEC_ID_OPUS,      AV_CODEC_ID_VORBIS,
    AV_CODEC_ID_FLAC,      AV_CODEC_ID_ALAC,      AV_CODEC_ID_MP3,       AV_CODEC_ID_MP2,
    AV_CODEC_ID_AC3,       AV_CODEC_ID_EAC3,      AV_CODEC_ID_PCM_U8,    AV_CODEC_ID_PCM_S8,
    AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE,
    AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE, AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE,
    AV_CODEC_ID_PCM_MULAW, AV_CODEC_ID_PCM_ALAW};

static int channels_of(const AVFrame *f)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
    return f->ch_layout.nb_channels;
#else
    return f->channels;
#endif
}

static int channels_stated(const AVCodecParameters *p)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
    return p->ch_layout.nb_channels;
#else
    return p->channels;
#endif
}

static bool fail(sound *s, const char *what, int code)
{
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av_strerror(code, text, sizeof(text));
    s->job->no_memory |= code == AVERROR(ENOMEM);
    return hr__audio_fail(s->job, "%s: %s", what, text);
}

static bool no_memory(sound *s)
{
    return fail(s, "the decoder", AVERROR(ENOMEM));
}

/* ---- the file ---- */

static int read_bytes(void *user, uint8_t *dst, int size)
{
    sound *s = user;
    size_t left = s->job->size - s->at, n = left < (size_t)size ? left : (size_t)size;
    if (n == 0)
        return AVERROR_EOF;
    memcpy(dst, s->job->bytes + s->at, n);
    s->at += n;
    return (int)n;
}

static int64_t seek(void *user, int64_t offset, int whence)
{
    sound *s = user;
    const int64_t size = (int64_t)s->job->size;
    if (whence & AVSEEK_SIZE)
        return size;
    whence &= ~AVSEEK_FORCE;
    offset += whence == SEEK_CUR ? (int64_t)s->at : whence == SEEK_END ? size : 0;
    if (offset < 0)
        return AVERROR(EINVAL);
    s->at = (size_t)(offset < size ? offset : size);
    return (int64_t)s->at;
}

/* A file may name others, which are not opened. */
static int refuse(AVFormatContext *format, AVIOContext **io, const char *url, int flags,
                  AVDictionary **options)
{
    (void)format;
    (void)io;
    (void)url;
    (void)flags;
    (void)options;
    return AVERROR(EPERM);
}

static bool open_file(sound *s)
{
    hr_audio_job *job = s->job;
    const AVInputFormat *demuxer = av_find_input_format(job->container);
    uint8_t *buffer = av_malloc(BUFFER);
    if (!demuxer) {
        av_free(buffer);
        return hr__audio_fail(job, "libavformat was built without the demuxer '%s'",
                              job->container);
    }
    if (strcmp(job->container, "mov") == 0 && !hr__mp4_tables_are_small(job->bytes, job->size)) {
        av_free(buffer);
        return hr__audio_fail(
            job, "the tables are compressed, or describe more samples than the file can have");
    }
    s->io = buffer ? avio_alloc_context(buffer, BUFFER, 0, s, read_bytes, NULL, seek) : NULL;
    if (!s->io)
        av_free(buffer);
    if (!s->io || !(s->format = avformat_alloc_context()))
        return no_memory(s);
    s->format->pb = s->io;
    s->format->io_open = refuse;
    int code = avformat_open_input(&s->format, "", demuxer, NULL); /* frees it if it fails */
    if (code == 0)
        code = avformat_find_stream_info(s->format, NULL);
    return code >= 0 || fail(s, "the headers are damaged", code);
}

/* ---- the decoder ---- */

static bool is_supported(enum AVCodecID id)
{
    for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++)
        if (codecs[i] == id)
            return true;
    return false;
}

static bool open_stream(sound *s)
{
    AVFormatContext *format = s->format;
    const int index = av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, NULL, 0);
    if (index < 0)
        return hr__audio_fail(s->job, "the file has no sound");
    for (unsigned i = 0; i < format->nb_streams; i++)
        if ((int)i != index)
            format->streams[i]->discard = AVDISCARD_ALL;
    s->stream = format->streams[index];
    const AVCodecParameters *p = s->stream->codecpar;
    const AVCodec *codec = is_supported(p->codec_id) ? avcodec_find_decoder(p->codec_id) : NULL;
    if (!codec)
        return hr__audio_fail(s->job, "the codec of the sound, '%s', is not supported",
                              p->codec_id ? avcodec_get_name(p->codec_id) : "unknown");
    if (!(s->codec = avcodec_alloc_context3(codec)) || !(s->packet = av_packet_alloc()) ||
        !(s->frame = av_frame_alloc()))
        return no_memory(s);
    s->codec->thread_count = 1;
    s->codec->pkt_timebase = s->stream->time_base;
    int code = avcodec_parameters_to_context(s->codec, p);
    if (code >= 0)
        code = avcodec_open2(s->codec, codec, NULL);
    return code >= 0 || fail(s, "the decoder cannot be set up", code);
}

/* ---- samples ---- */

/* Float, or integers at the top of 32 bits. `step`: from one sample of a channel to the next. */
static bool convert(enum AVSampleFormat kind, const uint8_t *src, int64_t n, int64_t step,
                    void *dst, int64_t channels)
{
    float *f = dst;
    int32_t *v = dst;
    switch (kind) {
    case AV_SAMPLE_FMT_U8:
        for (int64_t i = 0; i < n; i++)
            v[i * channels] = (src[i * step] - 128) * (1 << 24);
        return true;
    case AV_SAMPLE_FMT_S16:
        for (int64_t i = 0; i < n; i++)
            v[i * channels] = ((const int16_t *)src)[i * step] * (1 << 16);
        return true;
    case AV_SAMPLE_FMT_S32:
        for (int64_t i = 0; i < n; i++)
            v[i * channels] = ((const int32_t *)src)[i * step];
        return true;
    case AV_SAMPLE_FMT_FLT:
        for (int64_t i = 0; i < n; i++)
            f[i * channels] = ((const float *)src)[i * step];
        return true;
    default:
        return false;
    }
}

static bool begin(sound *s, int channels, int rate, enum AVSampleFormat kind)
{
    s->kind = kind;
    return hr__audio_begin(s->job, channels, rate, kind == AV_SAMPLE_FMT_FLT);
}

/* Memory for what the stream says that it has. */
static void expect(sound *s)
{
    const AVRational samples = {1, s->job->rate};
    if (s->stream->duration > 0)
        hr__audio_expect(s->job,
                         av_rescale_q(s->stream->duration, s->stream->time_base, samples) + 8192);
}

static bool take_frame(sound *s)
{
    hr_audio_job *job = s->job;
    const AVFrame *f = s->frame;
    const int channels = channels_of(f);
    const bool planar = av_sample_fmt_is_planar(f->format);
    const enum AVSampleFormat kind = av_get_packed_sample_fmt(f->format);
    if (job->channels == 0) {
        if (!begin(s, channels, f->sample_rate, kind))
            return false;
        expect(s);
    }
    if (channels != job->channels || f->sample_rate != job->rate || (int32_t)kind != s->kind)
        return hr__audio_fail(job, "the sound changes from %d channels of %d Hz to %d of %d Hz",
                              job->channels, job->rate, channels, f->sample_rate);
    uint8_t *room = hr__audio_room(job, f->nb_samples);
    if (!room)
        return false;
    const int64_t size = av_get_bytes_per_sample(kind);
    for (int k = 0; k < channels; k++)
        if (!convert(kind, planar ? f->extended_data[k] : f->data[0] + k * size, f->nb_samples,
                     planar ? 1 : channels, room + 4 * (size_t)k, channels))
            return hr__audio_fail(job, "samples of the type %s are not supported",
                                  av_get_sample_fmt_name(kind));
    hr__audio_keep(job, f->nb_samples);
    return true;
}

/* Decodes a packet; NULL: there is no other. */
static bool decode_packet(sound *s, const AVPacket *packet)
{
    char what[64];
    int code = avcodec_send_packet(s->codec, packet);
    while (code >= 0 && hr__audio_wants(s->job)) {
        code = avcodec_receive_frame(s->codec, s->frame);
        if (code >= 0 && !take_frame(s))
            return false;
    }
    if (code >= 0 || code == AVERROR(EAGAIN) || code == AVERROR_EOF)
        return true;
    snprintf(what, sizeof(what), "packet %lld cannot be decoded", (long long)s->packets);
    return fail(s, what, code);
}

/* Matroska's CodecDelay, which older versions of libavformat only put into the times of packets and
 * into `initial_padding`. Opus states the delay itself. */
static bool skip_delay(sound *s)
{
    AVPacket *p = s->packet;
    const int32_t delay = s->stream->codecpar->initial_padding;
    if (s->packets > 0 || delay <= 0 || p->pts == AV_NOPTS_VALUE || p->pts > 0 ||
        s->codec->codec_id == AV_CODEC_ID_OPUS ||
        av_packet_get_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, NULL))
        return true;
    uint8_t *data = av_packet_new_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, 10);
    if (!data)
        return no_memory(s);
    memset(data, 0, 10);
    for (int i = 0; i < 4; i++)
        data[i] = (uint8_t)((uint32_t)delay >> 8 * i);
    return true;
}

/* The next packet of the stream; *end: there is none. What a file that was cut has of its last
 * packet is left out. */
static bool next_packet(sound *s, bool *end)
{
    const size_t size = s->job->size;
    const uint64_t most = PACKET_BYTES + (uint64_t)size * PACKET_BYTES_PER_BYTE;
    *end = false;
    for (;;) {
        av_packet_unref(s->packet);
        int code = av_read_frame(s->format, s->packet);
        *end = code == AVERROR_EOF;
        if (code < 0)
            return *end || fail(s, "the file is damaged", code);
        s->fetched += (uint64_t)s->packet->size + 16;
        if (s->fetched > most) {
            s->job->over_limit = true;
            return hr__audio_fail(s->job, "%zu bytes have packets of more than %llu bytes", size,
                                  (unsigned long long)most);
        }
        if (s->packet->stream_index != s->stream->index)
            continue;
        if (s->packet->flags & AV_PKT_FLAG_CORRUPT) {
            *end = s->at == size;
            return *end || hr__audio_fail(s->job, "packet %lld is damaged", (long long)s->packets);
        }
        bool ready = skip_delay(s);
        s->packets++;
        return ready;
    }
}

static bool run(sound *s)
{
    bool end = false;
    s->job->most = 1; /* until it is known */
    while (!end && hr__audio_wants(s->job))
        if (!next_packet(s, &end) || !decode_packet(s, end ? NULL : s->packet))
            return false;
    const AVCodecParameters *p = s->stream->codecpar;
    return s->job->channels > 0 || begin(s, channels_stated(p), p->sample_rate, AV_SAMPLE_FMT_FLT);
}

static bool decode(hr_audio_job *job)
{
    sound s = {.job = job};
    av_log_set_level(AV_LOG_QUIET); /* of this copy of the library: a demuxer has no level */
    bool done = open_file(&s) && open_stream(&s) && run(&s);
    av_frame_free(&s.frame);
    av_packet_free(&s.packet);
    avcodec_free_context(&s.codec);
    avformat_close_input(&s.format);
    if (s.io)
        av_freep(&s.io->buffer);
    avio_context_free(&s.io);
    return done && hr__audio_end(job);
}

static void forget(hr_audio_kept *kept)
{
    (void)kept; /* nothing is */
}

static const char *version(void)
{
    static char text[80];
    unsigned v = avformat_version();
    if (!text[0])
        snprintf(text, sizeof(text), "libavformat %u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
    return text;
}

const hr_audio_module_def *hr_audio_module(void)
{
    static const hr_audio_module_def module = {.abi = HR_AUDIO_ABI_VERSION,
                                               .struct_size = sizeof(hr_audio_module_def),
                                               .version = version,
                                               .decode = decode,
                                               .forget = forget};
    return &module;
}
