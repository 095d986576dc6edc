// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Decoders of NVDEC behind the interface of codecs/video/module.h. Codecs whose pictures follow
// from the bytes alone are decoded, so that they are those of the CPU. A picture is copied as soon
// as it is complete: NVDEC uses its surfaces again.
#include "cuda/video/planes.cuh"
#include "cuda/video/session.cuh"
#include "cuda/video/units.cuh"

#include <stdarg.h>
#include <stdio.h>

#include "codecs/video/video.h"
#include "cuda/runtime.cuh"
#include "cuda/using.cuh"

namespace
{

using video::library;

constexpr unsigned DELAY = 2; // pictures that are decoded before the first one is asked for
constexpr int32_t QUEUE_MAX = 40;
constexpr int32_t SURFACES_MAX = 256;

// A complete picture: luma and chroma, one below the other.
struct Done {
    int64_t id;
    CUVIDEOFORMAT format;
    uint8_t *planes;
    size_t room;
};

struct Decoder {
    int32_t device;
    cudaVideoCodec codec;
    int64_t max_pixels;
    size_t length_size;  // of NAL units; 0: they have start codes
    video::Bytes header; // parameter sets, in front of the first packet
    video::Bytes packet;
    bool begun, ended, known; // since the parser was made; `known`: the stream has said what it is
    CUvideoparser parser;
    video::Session session; // without a decoder until the stream has said what it is
    CUVIDEOFORMAT format;
    // Packet and whether it is wanted, as in timestamps: of the packet in hand and of each surface.
    // The parser gives timestamps back in ascending order, as if they were times of presentation.
    int64_t sent, decoded[SURFACES_MAX];
    cudaStream_t stream;
    cudaEvent_t event;
    Done queue[QUEUE_MAX]; // in a ring; entries that are not in use keep their memory
    int32_t first, count;
    bool in_hand;  // the first one was received
    char *message; // of the call in progress
    bool failed;
};

bool fail(Decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail(Decoder *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (d->message && !d->failed)
        vsnprintf(d->message, HR_VIDEO_MESSAGE, format, list);
    va_end(list);
    d->failed = true;
    return false;
}

bool check(Decoder *d, cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return true;
    (void)cudaGetLastError(); // clears errors that are not sticky
    return fail(d, "%s: %s", what, cudaGetErrorString(code));
}

bool check_driver(Decoder *d, CUresult code, const char *what)
{
    return code == CUDA_SUCCESS || fail(d, "%s: CUDA error %d", what, (int)code);
}

// Waits without spinning.
bool wait(Decoder *d)
{
    return check(d, cudaEventRecord(d->event, d->stream), "cudaEventRecord") &&
           check(d, cudaEventSynchronize(d->event), "cudaEventSynchronize");
}

int32_t width_of(const CUVIDEOFORMAT &f)
{
    return f.display_area.right - f.display_area.left;
}

int32_t height_of(const CUVIDEOFORMAT &f)
{
    return f.display_area.bottom - f.display_area.top;
}

size_t sample_size(const CUVIDEOFORMAT &f)
{
    return f.bit_depth_luma_minus8 > 0 ? 2 : 1;
}

size_t stride_of(const CUVIDEOFORMAT &f)
{
    return (((size_t)width_of(f) + 1) / 2 * 2 * sample_size(f) + 255) / 256 * 256;
}

// A session in which something failed is not used again.
void drop_session(Decoder *d)
{
    if (d->session.decoder && d->failed)
        (void)library()->destroy_decoder(d->session.decoder);
    else if (d->session.decoder)
        video::give_session(d->session);
    d->session.decoder = NULL;
}

// ---- what the parser calls ----

// Returns the number of surfaces, 0: failed.
int on_sequence(void *user, CUVIDEOFORMAT *f)
{
    Decoder *d = (Decoder *)user;
    const int32_t width = width_of(*f), height = height_of(*f);
    const video::Format wanted = {d->device,
                                  f->codec,
                                  (int32_t)f->coded_width,
                                  (int32_t)f->coded_height,
                                  f->bit_depth_luma_minus8 + 8,
                                  f->min_num_decode_surfaces + (int32_t)DELAY + 1};
    if (f->chroma_format != cudaVideoChromaFormat_420 ||
        f->bit_depth_luma_minus8 != f->bit_depth_chroma_minus8 || wanted.bits > 12)
        return fail(d, "NVDEC decodes only 4:2:0 here");
    if (width < 1 || height < 1 || f->display_area.left % 2 || f->display_area.top % 2 ||
        f->display_area.left < 0 || f->display_area.top < 0 ||
        f->display_area.right > wanted.width || f->display_area.bottom > wanted.height ||
        (int64_t)width * height > d->max_pixels)
        return fail(d, "frames of %d x %d pixels are not accepted", width, height);
    const video::Format &now = d->session.format;
    const bool fits = d->session.decoder && now.width == wanted.width &&
                      now.height == wanted.height && now.bits == wanted.bits &&
                      now.surfaces == wanted.surfaces;
    if (d->known && !fits) // the pictures of the old session can still be needed
        return fail(d, "the size changes within the video");
    d->format = *f;
    d->known = true;
    if (fits)
        return now.surfaces;
    drop_session(d);
    if (!video::take_session(wanted, &d->session))
        return fail(d, "NVDEC does not decode this format, or has no memory for it");
    return wanted.surfaces;
}

int on_decode(void *user, CUVIDPICPARAMS *picture)
{
    Decoder *d = (Decoder *)user;
    if (d->failed || !d->session.decoder)
        return 0;
    if (picture->CurrPicIdx < 0 || picture->CurrPicIdx >= SURFACES_MAX)
        return fail(d, "NVDEC uses too many surfaces");
    if (!picture->second_field)
        d->decoded[picture->CurrPicIdx] = d->sent;
    return check_driver(d, library()->decode(d->session.decoder, picture), "cuvidDecodePicture");
}

bool make_room(Decoder *d, Done *to, size_t size)
{
    if (size <= to->room)
        return true;
    (void)cudaFree(to->planes);
    to->planes = NULL;
    to->room = 0;
    if (!check(d, cudaMalloc((void **)&to->planes, size), "cudaMalloc"))
        return false;
    to->room = size;
    return true;
}

// Copies what is displayed of a surface.
bool copy_planes(Decoder *d, Done *to, const uint8_t *surface, size_t pitch)
{
    const CUVIDEOFORMAT &f = d->format;
    const size_t unit = sample_size(f), stride = stride_of(f), left = (size_t)f.display_area.left;
    const size_t top = (size_t)f.display_area.top, rows = (size_t)height_of(f);
    const size_t bytes = ((size_t)width_of(f) + 1) / 2 * 2 * unit, chroma_rows = (rows + 1) / 2;
    const uint8_t *luma = surface + top * pitch + left * unit;
    const uint8_t *chroma = surface + (f.coded_height + top / 2) * pitch + left * unit;
    return make_room(d, to, stride * (rows + chroma_rows)) &&
           check(d,
                 cudaMemcpy2DAsync(to->planes, stride, luma, pitch, bytes, rows,
                                   cudaMemcpyDeviceToDevice, d->stream),
                 "cudaMemcpy2DAsync") &&
           check(d,
                 cudaMemcpy2DAsync(to->planes + stride * rows, stride, chroma, pitch, bytes,
                                   chroma_rows, cudaMemcpyDeviceToDevice, d->stream),
                 "cudaMemcpy2DAsync");
}

bool is_damaged(Decoder *d, int index)
{
    CUVIDGETDECODESTATUS status = {};
    return library()->status(d->session.decoder, index, &status) == CUDA_SUCCESS &&
           (status.decodeStatus == cuvidDecodeStatus_Error ||
            status.decodeStatus == cuvidDecodeStatus_Error_Concealed);
}

// The packet of a picture, and whether it is wanted; -1: not clear. Pictures of VP8 and VP9 are not
// reordered, but a packet may have none, or show one that was decoded before.
int64_t packet_of(const Decoder *d, const CUVIDPARSERDISPINFO &shown)
{
    if (shown.picture_index < 0 || shown.picture_index >= SURFACES_MAX)
        return -1;
    const int64_t packet = d->decoded[shown.picture_index];
    const bool reorders = d->codec == cudaVideoCodec_H264 || d->codec == cudaVideoCodec_HEVC;
    return reorders || packet == shown.timestamp ? packet : -1;
}

int on_display(void *user, CUVIDPARSERDISPINFO *shown)
{
    Decoder *d = (Decoder *)user;
    int64_t packet = shown ? packet_of(d, *shown) : 0;
    if (packet < 0)
        return fail(d, "it is not clear which packet a picture is of");
    if (!(packet & 1)) // nobody wants it
        return 1;
    if (d->failed || !d->session.decoder || d->count == QUEUE_MAX)
        return fail(d, "NVDEC gives too many pictures");
    CUVIDPROCPARAMS how = {};
    how.progressive_frame = shown->progressive_frame;
    how.top_field_first = shown->top_field_first;
    how.unpaired_field = shown->repeat_first_field < 0;
    how.output_stream = d->stream;
    unsigned long long surface = 0;
    unsigned pitch = 0;
    if (!check_driver(
            d, library()->map(d->session.decoder, shown->picture_index, &surface, &pitch, &how),
            "cuvidMapVideoFrame"))
        return 0;
    Done *to = &d->queue[(d->first + d->count) % QUEUE_MAX];
    bool good = copy_planes(d, to, (const uint8_t *)surface, pitch) && wait(d);
    good = good && (!is_damaged(d, shown->picture_index) || fail(d, "a picture is damaged"));
    good = check_driver(d, library()->unmap(d->session.decoder, surface), "cuvidUnmapVideoFrame") &&
           good;
    to->id = packet >> 1;
    to->format = d->format;
    d->count += good;
    return good;
}

// ---- the table ----

void drop_parser(Decoder *d)
{
    d->message = NULL;
    if (d->parser)
        (void)library()->destroy_parser(d->parser);
    d->parser = NULL;
    d->first = d->count = 0;
    d->in_hand = d->begun = d->ended = d->known = false;
}

bool make_parser(Decoder *d)
{
    CUVIDPARSERPARAMS how = {};
    how.CodecType = d->codec;
    how.ulMaxNumDecodeSurfaces = 1; // on_sequence says how many there are
    how.ulErrorThreshold = 100;     // of damaged pictures, the status tells
    how.ulMaxDisplayDelay = DELAY;
    how.pUserData = d;
    how.pfnSequenceCallback = on_sequence;
    how.pfnDecodePicture = on_decode;
    how.pfnDisplayPicture = on_display;
    return check_driver(d, library()->create_parser(&d->parser, &how), "cuvidCreateVideoParser");
}

void close_decoder(void *memory)
{
    Decoder *d = (Decoder *)memory;
    if (!d)
        return;
    Using use(d->device);
    drop_parser(d);
    if (d->stream)
        (void)cudaStreamSynchronize(d->stream);
    drop_session(d);
    for (int32_t i = 0; i < QUEUE_MAX; i++)
        (void)cudaFree(d->queue[i].planes);
    if (d->event)
        (void)cudaEventDestroy(d->event);
    if (d->stream)
        hr_cuda_stream_destroy(d->device, d->stream);
    free(d->header.data);
    free(d->packet.data);
    free(d);
}

bool codec_of(int32_t codec, cudaVideoCodec *out)
{
    switch (codec) {
    case HR_VIDEO_CODEC_H264:
        *out = cudaVideoCodec_H264;
        return true;
    case HR_VIDEO_CODEC_HEVC:
        *out = cudaVideoCodec_HEVC;
        return true;
    case HR_VIDEO_CODEC_VP8:
        *out = cudaVideoCodec_VP8;
        return true;
    case HR_VIDEO_CODEC_VP9:
        *out = cudaVideoCodec_VP9;
        return true;
    default:
        return false;
    }
}

// What precedes the first packet.
bool read_extra(Decoder *d, const hr_video_stream *s)
{
    const bool units = d->codec == cudaVideoCodec_H264 || d->codec == cudaVideoCodec_HEVC;
    if (s->extra_size == 0)
        return true;
    if (units && s->extra[0] == 1) {
        d->length_size = d->codec == cudaVideoCodec_H264
                             ? video::append_avcc(&d->header, s->extra, s->extra_size)
                             : video::append_hvcc(&d->header, s->extra, s->extra_size);
        if (d->length_size == 0)
            return fail(d, "the parameters are damaged");
    } else if (units) {
        video::append(&d->header, s->extra, s->extra_size);
    }
    return !d->header.failed || fail(d, "not enough memory for a decoder");
}

bool set_up(Decoder *d, const hr_video_stream *s)
{
    void *stream = NULL;
    if (!codec_of(s->codec, &d->codec))
        return fail(d, "NVDEC does not decode this codec");
    if (!library())
        return fail(d, "libnvcuvid.so.1 is not installed");
    d->device = s->device;
    d->max_pixels = s->max_pixels;
    if (hr_cuda_stream_create(d->device, &stream, NULL) != HR_STATUS_OK)
        return fail(d, "not enough memory for a decoder");
    d->stream = (cudaStream_t)stream;
    const unsigned flags = cudaEventBlockingSync | cudaEventDisableTiming;
    Using use(d->device);
    return check(d, use.code, "cudaSetDevice") &&
           check(d, cudaEventCreateWithFlags(&d->event, flags), "cudaEventCreate") &&
           read_extra(d, s) && make_parser(d);
}

void *open_decoder(const hr_video_stream *stream, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)calloc(1, sizeof(Decoder));
    if (!d) {
        snprintf(message, HR_VIDEO_MESSAGE, "not enough memory for a decoder");
        return NULL;
    }
    d->message = message;
    if (set_up(d, stream))
        return d;
    close_decoder(d);
    return NULL;
}

// Whether a key frame of VP8 has an odd size, of which NVDEC's parser leaves the last column or row
// out.
bool is_cut(const Decoder *d, const uint8_t *bytes, size_t size)
{
    const bool key = d->codec == cudaVideoCodec_VP8 && size >= 10 && (bytes[0] & 1) == 0;
    return key && ((bytes[6] & 1) || (bytes[8] & 1));
}

// The bytes that the parser gets.
bool write_packet(Decoder *d, const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    d->packet.size = 0;
    if (is_cut(d, bytes, size))
        return fail(d, "NVDEC does not decode odd sizes of VP8");
    if (!d->begun)
        video::append(&d->packet, d->header.data, d->header.size);
    d->begun = true;
    if (d->length_size > 0)
        video::append_units(&d->packet, bytes, size, &at, d->length_size, SIZE_MAX);
    else
        video::append(&d->packet, bytes, size);
    return !d->packet.failed || fail(d, "not enough memory for a packet");
}

hr_video_result send(void *memory, const uint8_t *bytes, size_t size, int64_t id, bool wanted,
                     char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    CUVIDSOURCEDATAPACKET packet = {};
    d->message = message;
    packet.flags = CUVID_PKT_ENDOFSTREAM;
    Using use(d->device);
    bool good = check(d, use.code, "cudaSetDevice") && d->parser && !d->failed;
    if (good && bytes) {
        good = write_packet(d, bytes, size);
        packet.flags = CUVID_PKT_TIMESTAMP | CUVID_PKT_ENDOFPICTURE;
        packet.payload = d->packet.data;
        packet.payload_size = (tcu_ulong)d->packet.size;
        packet.timestamp = d->sent = id << 1 | (wanted ? 1 : 0);
    }
    d->ended = !bytes;
    good = good && check_driver(d, library()->parse(d->parser, &packet), "cuvidParseVideoData");
    d->message = NULL;
    return good && !d->failed ? HR_VIDEO_RESULT_MORE : HR_VIDEO_RESULT_FAILED;
}

int64_t pixels(const void *memory)
{
    const CUVIDEOFORMAT &f = ((const Decoder *)memory)->format;
    return (int64_t)f.coded_width * f.coded_height;
}

hr_video_result receive(void *memory, hr_video_picture *picture, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    (void)message;
    if (d->in_hand) {
        d->first = (d->first + 1) % QUEUE_MAX;
        d->count--;
    }
    if (d->count == 0)
        d->first = 0; // few entries of the ring get memory
    d->in_hand = d->count > 0;
    if (!d->in_hand)
        return d->ended ? HR_VIDEO_RESULT_END : HR_VIDEO_RESULT_MORE;
    const CUVIDEOFORMAT &f = d->queue[d->first].format;
    *picture = {};
    picture->id = d->queue[d->first].id;
    picture->width = width_of(f);
    picture->height = height_of(f);
    picture->bits = f.bit_depth_luma_minus8 + 8;
    picture->shift_x = picture->shift_y = 1;
    picture->signal.matrix = f.video_signal_description.matrix_coefficients;
    picture->signal.full_range = f.video_signal_description.video_full_range_flag;
    return HR_VIDEO_RESULT_PICTURE;
}

void flush(void *memory, int64_t max_pixels)
{
    Decoder *d = (Decoder *)memory;
    Using use(d->device);
    drop_parser(d);
    d->max_pixels = max_pixels;
    make_parser(d);
}

void *stream_of(void *memory)
{
    return ((Decoder *)memory)->stream;
}

bool store(void *memory, const hr_video_form *form, uint8_t *dst, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    const CUVIDEOFORMAT &f = d->queue[d->first].format;
    const size_t stride = stride_of(f);
    const uint8_t *planes = d->queue[d->first].planes;
    d->message = message;
    video::Picture picture = {planes,
                              planes + stride * (size_t)height_of(f),
                              (int64_t)stride,
                              width_of(f),
                              height_of(f),
                              f.bit_depth_luma_minus8 + 8,
                              *form,
                              dst};
    Using use(d->device);
    return check(d, use.code, "cudaSetDevice") &&
           check(d, video::put_picture(picture, d->stream), "a kernel");
}

bool fill(void *memory, const uint8_t color[3], size_t count, uint8_t *dst,
          char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    d->message = message;
    Using use(d->device);
    return check(d, use.code, "cudaSetDevice") &&
           check(d, video::fill(dst, count, color, d->stream), "a kernel");
}

bool finish(void *memory, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    d->message = message;
    Using use(d->device);
    return check(d, use.code, "cudaSetDevice") && wait(d);
}

const char *version()
{
    return "NVDEC";
}

} // namespace

extern const hr_video_module_def hr_cuda_video;
const hr_video_module_def hr_cuda_video = {
    HR_VIDEO_ABI_VERSION,
    sizeof(hr_video_module_def),
    version,
    open_decoder,
    send,
    pixels,
    receive,
    flush,
    close_decoder,
    stream_of,
    store,
    fill,
    finish,
};
