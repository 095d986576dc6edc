/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_video.so: decoders of libavcodec, which calls libdav1d for AV1. */
#include "codecs/video/module.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages of a context with this offset are beyond every level, so that none is printed. Levels
 * and their sum with it have 8 bits. */
#define SILENT 192

typedef struct decoder {
    AVCodecContext *context;
    AVPacket *packet;
    AVFrame *frame;
} decoder;

static enum AVCodecID id_of(int32_t codec)
{
    static const enum AVCodecID ids[HR_VIDEO_CODEC_COUNT] = {
        [HR_VIDEO_CODEC_H264] = AV_CODEC_ID_H264,   [HR_VIDEO_CODEC_HEVC] = AV_CODEC_ID_HEVC,
        [HR_VIDEO_CODEC_VP8] = AV_CODEC_ID_VP8,     [HR_VIDEO_CODEC_VP9] = AV_CODEC_ID_VP9,
        [HR_VIDEO_CODEC_AV1] = AV_CODEC_ID_AV1,     [HR_VIDEO_CODEC_MPEG4] = AV_CODEC_ID_MPEG4,
        [HR_VIDEO_CODEC_MJPEG] = AV_CODEC_ID_MJPEG,
    };
    return codec > 0 && codec < HR_VIDEO_CODEC_COUNT ? ids[codec] : AV_CODEC_ID_NONE;
}

/* libavcodec's own decoder of AV1 needs a GPU. */
static const AVCodec *decoder_of(int32_t codec)
{
    return codec == HR_VIDEO_CODEC_AV1 ? avcodec_find_decoder_by_name("libdav1d")
                                       : avcodec_find_decoder(id_of(codec));
}

static bool fail(char message[HR_VIDEO_MESSAGE], const char *what, int code)
{
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    if (code != 0)
        av_strerror(code, text, sizeof(text));
    snprintf(message, HR_VIDEO_MESSAGE, "%s%s%s", what, code ? ": " : "", text);
    return false;
}

static void close_decoder(void *memory)
{
    decoder *d = memory;
    if (!d)
        return;
    av_frame_free(&d->frame);
    av_packet_free(&d->packet);
    avcodec_free_context(&d->context);
    free(d);
}

static bool set_up(decoder *d, const hr_video_stream *s, char message[HR_VIDEO_MESSAGE])
{
    const AVCodec *codec = decoder_of(s->codec);
    if (!codec)
        return fail(message, "libavcodec was built without this decoder", 0);
    AVCodecContext *c = d->context = avcodec_alloc_context3(codec);
    d->packet = av_packet_alloc();
    d->frame = av_frame_alloc();
    if (!c || !d->packet || !d->frame)
        return fail(message, "not enough memory for a decoder", 0);
    c->log_level_offset = SILENT;
    c->thread_count = 1;
    c->max_pixels = s->max_pixels;
    c->width = s->width;
    c->height = s->height;
    /* Pictures are asked for by their packet, so all are wanted, with exact edges. */
    c->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT | AV_CODEC_FLAG_UNALIGNED;
    if (s->codec == HR_VIDEO_CODEC_H264) /* the delay is that of the level, so none is dropped */
        c->strict_std_compliance = FF_COMPLIANCE_STRICT;
    if (s->extra_size > 0) {
        if (!(c->extradata = av_mallocz(s->extra_size + AV_INPUT_BUFFER_PADDING_SIZE)))
            return fail(message, "not enough memory for a decoder", 0);
        memcpy(c->extradata, s->extra, s->extra_size);
        c->extradata_size = (int)s->extra_size;
    }
    int code = avcodec_open2(c, codec, NULL);
    return code == 0 || fail(message, "the decoder cannot be set up", code);
}

static void *open_decoder(const hr_video_stream *stream, char message[HR_VIDEO_MESSAGE])
{
    decoder *d = calloc(1, sizeof(*d));
    if (!d || stream->extra_size > INT32_MAX / 2)
        fail(message, "not enough memory for a decoder", 0);
    else if (set_up(d, stream, message))
        return d;
    close_decoder(d);
    return NULL;
}

static hr_video_result send_packet(void *memory, const uint8_t *bytes, size_t size, int64_t id,
                                   bool wanted, char message[HR_VIDEO_MESSAGE])
{
    decoder *d = memory;
    (void)wanted;
    if (size > INT32_MAX / 2) {
        fail(message, "it is too large", 0);
        return HR_VIDEO_RESULT_FAILED;
    }
    d->packet->data = (uint8_t *)(uintptr_t)bytes; /* is only read */
    d->packet->size = (int)size;
    d->packet->pts = id; /* the only thing that comes back with the picture in all versions */
    int code = avcodec_send_packet(d->context, bytes ? d->packet : NULL);
    d->packet->data = NULL;
    d->packet->size = 0;
    if (code == 0 || (!bytes && code == AVERROR_EOF))
        return HR_VIDEO_RESULT_MORE;
    fail(message, "it cannot be decoded", code);
    return HR_VIDEO_RESULT_FAILED;
}

static bool describe(const AVFrame *f, hr_video_picture *p, char message[HR_VIDEO_MESSAGE])
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    bool planar = d && ((d->flags & AV_PIX_FMT_FLAG_PLANAR) || d->nb_components == 1);
    if (!planar ||
        (d->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                     AV_PIX_FMT_FLAG_FLOAT)) ||
        d->comp[0].step != (d->comp[0].depth > 8 ? 2 : 1) || d->comp[0].shift != 0)
        return fail(message, "pictures of this pixel format are not supported", 0);
    bool gray = d->nb_components < 3;
    *p = (hr_video_picture){.id = f->pts,
                            .width = f->width,
                            .height = f->height,
                            .bits = d->comp[0].depth,
                            .shift_x = gray ? 0 : d->log2_chroma_w,
                            .shift_y = gray ? 0 : d->log2_chroma_h,
                            .colors = gray                             ? HR_VIDEO_COLORS_GRAY
                                      : d->flags & AV_PIX_FMT_FLAG_RGB ? HR_VIDEO_COLORS_GBR
                                                                       : HR_VIDEO_COLORS_YUV,
                            .signal = {.matrix = f->colorspace,
                                       .full_range = f->color_range == AVCOL_RANGE_JPEG ||
                                                     strncmp(d->name, "yuvj", 4) == 0},
                            .damaged = f->decode_error_flags != 0 ||
                                       (f->flags & AV_FRAME_FLAG_CORRUPT) != 0};
    for (int i = 0; i < (gray ? 1 : 3); i++) {
        p->plane[i] = f->data[i];
        p->stride[i] = f->linesize[i];
    }
    return true;
}

static hr_video_result receive(void *memory, hr_video_picture *picture,
                               char message[HR_VIDEO_MESSAGE])
{
    decoder *d = memory;
    int code = avcodec_receive_frame(d->context, d->frame);
    if (code == AVERROR(EAGAIN))
        return HR_VIDEO_RESULT_MORE;
    if (code == AVERROR_EOF)
        return HR_VIDEO_RESULT_END;
    if (code == 0 ? describe(d->frame, picture, message)
                  : fail(message, "it cannot be decoded", code))
        return HR_VIDEO_RESULT_PICTURE;
    return HR_VIDEO_RESULT_FAILED;
}

static int64_t pixels(const void *memory)
{
    const AVCodecContext *c = ((const decoder *)memory)->context;
    return (int64_t)c->width * c->height;
}

static void flush(void *memory, int64_t max_pixels)
{
    AVCodecContext *c = ((decoder *)memory)->context;
    avcodec_flush_buffers(c);
    c->max_pixels = max_pixels;
}

static const char *version(void)
{
    static char text[80];
    unsigned v = avcodec_version(), f = avformat_version();
    if (!text[0])
        snprintf(text, sizeof(text), "libavcodec %u.%u.%u%s, libavformat %u.%u.%u", v >> 16,
                 v >> 8 & 255, v & 255, decoder_of(HR_VIDEO_CODEC_AV1) ? " with libdav1d" : "",
                 f >> 16, f >> 8 & 255, f & 255);
    return text;
}

const hr_video_module_def *hr_video_module(void)
{
    static const hr_video_module_def module = {.abi = HR_VIDEO_ABI_VERSION,
                                               .struct_size = sizeof(hr_video_module_def),
                                               .version = version,
                                               .open = open_decoder,
                                               .send = send_packet,
                                               .pixels = pixels,
                                               .receive = receive,
                                               .flush = flush,
                                               .close = close_decoder};
    return &module;
}
