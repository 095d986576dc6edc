/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/frames.h"

#include "codecs/video/module.h"
#include "codecs/video/packets.h"
#include "codecs/video/planes.h"
#include "core/library.h"

#include <stdlib.h>
#include <string.h>

/* Limits that follow from the size of the file, because a picture of one colour needs almost no
 * bytes, and packets may overlap: pixels of a frame, pixels and bytes that are decoded for a
 * request, bytes of its frames. */
#define FRAME_PIXELS ((int64_t)1 << 22)
#define FRAME_PIXELS_PER_BYTE ((int64_t)1 << 10)
#define FRAME_PIXELS_MOST ((int64_t)1 << 26)
#define DECODED_PIXELS ((int64_t)1 << 36)
#define DECODED_PIXELS_PER_BYTE ((int64_t)1 << 14)
#define DECODED_BYTES ((int64_t)1 << 30)
#define DECODED_BYTES_PER_BYTE ((int64_t)1 << 6)
#define OUTPUT_BYTES ((int64_t)1 << 32)
#define OUTPUT_BYTES_PER_BYTE ((int64_t)1 << 12)

/* A decoder of a module. */
typedef struct codec {
    const hr_video_module_def *module;
    void *decoder; /* for a stream of: */
    int32_t kind;
    uint8_t *extra;
    size_t extra_size;
    bool tainted; /* it has parameters that were in packets, so that another file needs another */
    bool failed;
} codec;

struct hr_video_decoder {
    codec codecs[2]; /* on the CPU, on the device */
    codec *codec;    /* of the request in hand */
    uint64_t turn;   /* which request that is, by number */
    hr_video_scratch scratch;
    uint8_t *stored, *packet; /* bytes of the packet in hand */
    size_t stored_room, packet_room;
};

/* A frame of the request. */
typedef struct wish {
    int32_t packet, position;
    bool done;
} wish;

/* Where a request is. */
struct hr_video_work {
    uint64_t turn;
    hr_video_plan plan;
    wish *wishes; /* sorted by packet */
    int32_t wish_count;
    int32_t run, next; /* the run in hand, and its next packet; next < 0: not begun */
    int32_t key;       /* the last key packet of the run that `next` has passed */
    int32_t left;      /* wished packets of the run that are missing */
    bool drained;      /* all packets of the run were sent */
    bool started;      /* the first picture is in hand */
    int64_t decoded;   /* pixels */
    int64_t bytes;     /* of the packets that were decoded */
    hr_video_picture picture;
    hr_video_signal signal; /* of VP9, by its first packet */
};

static const char *const codec_names[HR_VIDEO_CODEC_COUNT] = {
    "an unknown codec", "H.264", "HEVC", "VP8", "VP9", "AV1", "MPEG-4", "MJPEG"};

/* ---- the decoder ---- */

hr_library hr_video_library(const char *entry, uint32_t abi, uint32_t size)
{
    return (hr_library){
        .name = "video module",
        .file = "libheadrace_video.so",
        .folder = "../headrace_video",
        .variable = "HEADRACE_VIDEO_MODULE",
        .entry = entry,
        .advice = "it is in a package of its own: run `pip install headrace-video`, or `make "
                  "video-wheel` in the sources of Headrace and install the wheel; a build from "
                  "source has it if libavformat-dev and libavcodec-dev are installed",
        .abi = abi,
        .size = size};
}

hr_status hr_video_module_open(const hr_video_module_def **out, hr_error *error)
{
    const hr_library library =
        hr_video_library("hr_video_module", HR_VIDEO_ABI_VERSION, sizeof(hr_video_module_def));
    void *symbol = NULL;
    hr_video_module_fn entry = NULL;
    HR_TRY(hr_library_open(&library, &symbol, error));
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    return hr_library_check(&library, *out, error);
}

const char *hr_video_module_version(void)
{
    const hr_video_module_def *module;
    hr_error error;
    return hr_video_module_open(&module, &error) == HR_STATUS_OK ? module->version()
                                                                 : "is not installed";
}

hr_status hr_video_decoder_create(hr_video_decoder **out, hr_error *error)
{
    *out = hr_calloc(1, sizeof(**out), error);
    return *out ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void close_codec(codec *c)
{
    if (c->decoder)
        c->module->close(c->decoder);
    c->decoder = NULL;
    hr_free(c->extra);
    c->extra = NULL;
}

void hr_video_decoder_destroy(hr_video_decoder *d)
{
    if (!d)
        return;
    for (int i = 0; i < 2; i++)
        close_codec(&d->codecs[i]);
    hr_video_scratch_fini(&d->scratch);
    hr_free(d->stored);
    hr_free(d->packet);
    hr_free(d);
}

static hr_status make_room(uint8_t **bytes, size_t *room, size_t size, hr_error *error)
{
    if (size <= *room)
        return HR_STATUS_OK;
    uint8_t *more = hr_realloc(*bytes, size + size / 2, 1, error);
    if (!more)
        return HR_STATUS_NO_MEMORY;
    *bytes = more;
    *room = size + size / 2;
    return HR_STATUS_OK;
}

static int64_t limit_of(int64_t base, int64_t per_byte, int64_t size)
{
    return size > (INT64_MAX - base) / per_byte ? INT64_MAX : base + per_byte * size;
}

static int64_t max_pixels_of(const hr_video_request *r)
{
    int64_t by_size = limit_of(FRAME_PIXELS, FRAME_PIXELS_PER_BYTE, r->file->size);
    return HR_MIN(HR_MIN(by_size, FRAME_PIXELS_MOST), r->max_pixels);
}

/* Whether the decoder decodes the next run as a new one would. */
static bool fits(const codec *c, const hr_video_request *r)
{
    const hr_video *v = r->video;
    if (!c->decoder || c->failed)
        return false;
    if (r->work->run > 0)
        return true;
    return !c->tainted && c->kind == (int32_t)v->codec && c->extra_size == v->extra_size &&
           (v->extra_size == 0 || memcmp(c->extra, v->extra, v->extra_size) == 0);
}

/* Whether the size of the container is known and small enough to be true. */
static bool has_size(const hr_video_request *r)
{
    int64_t pixels = (int64_t)r->video->width * r->video->height;
    return pixels > 0 && pixels <= max_pixels_of(r);
}

/* Makes a decoder, or makes the one that is there forget. */
static hr_status ready_codec(codec *c, const hr_video_request *r, hr_error *error)
{
    const hr_video *v = r->video;
    const int64_t max_pixels = max_pixels_of(r);
    char message[HR_VIDEO_MESSAGE] = "";
    if (fits(c, r)) {
        c->module->flush(c->decoder, max_pixels);
        return HR_STATUS_OK;
    }
    close_codec(c);
    if (r->device)
        c->module = r->device->module;
    else
        HR_TRY(hr_video_module_open(&c->module, error));
    if (!(c->extra = hr_calloc(v->extra_size + 1, 1, error)))
        return HR_STATUS_NO_MEMORY;
    if (v->extra_size > 0)
        memcpy(c->extra, v->extra, v->extra_size);
    c->extra_size = v->extra_size;
    c->kind = (int32_t)v->codec;
    c->tainted = c->failed = false;
    hr_video_stream stream = {.codec = c->kind,
                              .extra = c->extra,
                              .extra_size = c->extra_size,
                              .width = has_size(r) ? v->width : 0,
                              .height = has_size(r) ? v->height : 0,
                              .max_pixels = max_pixels,
                              .device = r->device ? r->device->id : -1};
    if (!(c->decoder = c->module->open(&stream, message)))
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: %s", codec_names[v->codec], message);
    return HR_STATUS_OK;
}

/* Fails because the decoder did. */
static hr_status codec_failed(codec *c, hr_error *error, const char *message)
{
    c->failed = true;
    return hr_fail(error, HR_STATUS_CORRUPT, "%s: %s", codec_names[c->kind], message);
}

/* ---- what is wished ---- */

static int compare_wishes(const void *a, const void *b)
{
    const wish *x = a, *y = b;
    return x->packet != y->packet ? (x->packet > y->packet) - (x->packet < y->packet)
                                  : (x->position > y->position) - (x->position < y->position);
}

/* The first wish for a packet; wish_count if there is none. */
static int32_t find_wish(const struct hr_video_work *w, int64_t packet)
{
    int32_t low = 0, high = w->wish_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (w->wishes[middle].packet < packet)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->wish_count && w->wishes[low].packet == packet ? low : w->wish_count;
}

static hr_status make_wishes(struct hr_video_work *w, const hr_video_request *r, hr_error *error)
{
    int32_t n = 0;
    w->wishes = hr_arena_alloc(r->arena, (size_t)HR_MAX(r->count, 1) * sizeof(wish), error);
    if (!w->wishes)
        return HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < r->count; i++)
        if (r->frames[i] >= 0)
            w->wishes[n++] = (wish){r->video->order[r->frames[i]], i, false};
    w->wish_count = n;
    qsort(w->wishes, (size_t)n, sizeof(wish), compare_wishes);
    return HR_STATUS_OK;
}

/* The memory of the frames. */
static hr_status check_memory(const hr_video_request *r, hr_error *error)
{
    const int64_t size = r->file->size, bytes = 3 * (int64_t)r->width * r->height;
    if (r->count <= limit_of(OUTPUT_BYTES, OUTPUT_BYTES_PER_BYTE, size) / HR_MAX(bytes, 1))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "%d frames of %d x %d pixels need too much memory for a file of %lld bytes",
                   r->count, r->width, r->height, (long long)size);
}

/* The time that it takes to decode, in bytes. */
static hr_status count_bytes(const hr_video_request *r, int32_t size, hr_error *error)
{
    struct hr_video_work *w = r->work;
    w->bytes += size;
    if (w->bytes <= limit_of(DECODED_BYTES, DECODED_BYTES_PER_BYTE, r->file->size))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "decoding the frames takes too long for a file of %lld bytes: packets of %lld "
                   "bytes were decoded, because they overlap",
                   (long long)r->file->size, (long long)w->bytes);
}

/* The time that it takes to decode, in pixels. */
static hr_status count_pixels(const hr_video_decoder *d, const hr_video_request *r, hr_error *error)
{
    struct hr_video_work *w = r->work;
    int64_t pixels = d->codec->module->pixels(d->codec->decoder);
    w->decoded += pixels;
    if (w->decoded <= limit_of(DECODED_PIXELS, DECODED_PIXELS_PER_BYTE, r->file->size))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "decoding the frames takes too long for a file of %lld bytes: %lld pixels were "
                   "decoded, of frames of %lld",
                   (long long)r->file->size, (long long)w->decoded, (long long)pixels);
}

/* ---- decoding ---- */

static hr_status next_run(hr_video_decoder *d, const hr_video_request *r, hr_error *error)
{
    struct hr_video_work *w = r->work;
    const hr_video_run *run = &w->plan.runs[w->run];
    HR_TRY(ready_codec(d->codec, r, error));
    w->next = w->key = run->first;
    w->left = run->to - run->from;
    w->drained = false;
    return HR_STATUS_OK;
}

/* Whether a packet is decoded in vain: it belongs to pictures before the key packet of the run, or
 * only its own picture needs it. */
static bool in_vain(const hr_video_request *r, int32_t packet, int32_t content)
{
    const struct hr_video_work *w = r->work;
    const bool second = packet > 0 && r->video->packets[packet].flags & HR_VIDEO_PACKET_FIELD;
    if (find_wish(w, second ? packet - 1 : packet) < w->wish_count)
        return false;
    if (content & HR_VIDEO_CONTENT_DISPOSABLE)
        return true;
    return r->video->packets[packet].flags & HR_VIDEO_PACKET_LEADING &&
           w->key == w->plan.runs[w->run].first;
}

static hr_status send_packet(hr_video_decoder *d, const hr_video_request *r, int32_t index,
                             hr_error *error)
{
    const hr_video_packet *p = &r->video->packets[index];
    codec *c = d->codec;
    char message[HR_VIDEO_MESSAGE] = "";
    size_t size = 0;
    if (p->flags & HR_VIDEO_PACKET_KEY)
        r->work->key = index;
    HR_TRY(count_bytes(r, p->size, error));
    HR_TRY(make_room(&d->stored, &d->stored_room, (size_t)p->size + HR_VIDEO_PAD, error));
    HR_TRY(make_room(&d->packet, &d->packet_room, hr_video_room(r->video, p), error));
    HR_TRY(r->file->read(r->file->user, p->offset, (size_t)p->size, d->stored, error));
    HR_TRY(hr_video_unpack(r->video, p, d->stored, d->packet, &size, error));
    if (hr_video_is_crowded(r->video, d->packet, size))
        return hr_fail(error, HR_STATUS_LIMIT,
                       "packet %d of %d (%s) has more than %d units, which decoders would need too "
                       "much memory for",
                       index, r->video->count, codec_names[r->video->codec], HR_VIDEO_MOST_UNITS);
    if (r->video->codec == HR_VIDEO_CODEC_VP9)
        hr_video_vp9_signal(d->packet, size, &r->work->signal);
    int32_t content = hr_video_content_of(r->video, d->packet, size);
    if (content & HR_VIDEO_CONTENT_PARAMETERS)
        c->tainted = true;
    if (size == 0 || in_vain(r, index, content))
        return HR_STATUS_OK;
    bool wanted = find_wish(r->work, index) < r->work->wish_count;
    if (c->module->send(c->decoder, d->packet, size, index, wanted, message) ==
        HR_VIDEO_RESULT_MORE)
        return count_pixels(d, r, error);
    c->failed = true;
    return hr_fail(error, HR_STATUS_CORRUPT, "packet %d of %d (%s): %s", index, r->video->count,
                   codec_names[r->video->codec], message);
}

static hr_status send_next(hr_video_decoder *d, const hr_video_request *r, hr_error *error)
{
    struct hr_video_work *w = r->work;
    codec *c = d->codec;
    char message[HR_VIDEO_MESSAGE] = "";
    if (w->next < w->plan.runs[w->run].end)
        return send_packet(d, r, w->next++, error);
    w->drained = true;
    if (c->module->send(c->decoder, NULL, 0, 0, false, message) == HR_VIDEO_RESULT_MORE)
        return HR_STATUS_OK;
    c->failed = true;
    return hr_fail(error, HR_STATUS_CORRUPT, "the last packet (%s): %s",
                   codec_names[r->video->codec], message);
}

static hr_status missing(const hr_video_request *r, hr_error *error)
{
    const struct hr_video_work *w = r->work;
    for (int32_t i = 0; i < w->wish_count; i++)
        if (!w->wishes[i].done)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "frame %d of %d cannot be decoded: its packet (%d, %s) gave no picture",
                           r->frames[w->wishes[i].position], r->video->frames, w->wishes[i].packet,
                           codec_names[r->video->codec]);
    return hr_fail(error, HR_STATUS_CORRUPT, "a frame cannot be decoded");
}

/* Decodes until a wished picture is in hand; *done: there is no other. */
static hr_status next_picture(hr_video_decoder *d, hr_video_request *r, bool *done, hr_error *error)
{
    struct hr_video_work *w = r->work;
    char message[HR_VIDEO_MESSAGE] = "";
    *done = false;
    for (;;) {
        if (w->next >= 0 && w->left == 0) {
            w->run++;
            w->next = -1;
        }
        if (w->run == w->plan.run_count) {
            *done = true;
            return HR_STATUS_OK;
        }
        if (w->next < 0)
            HR_TRY(next_run(d, r, error));
        switch (d->codec->module->receive(d->codec->decoder, &w->picture, message)) {
        case HR_VIDEO_RESULT_MORE:
            HR_TRY(send_next(d, r, error));
            break;
        case HR_VIDEO_RESULT_END:
            return missing(r, error);
        case HR_VIDEO_RESULT_PICTURE: {
            int32_t k = find_wish(w, w->picture.id);
            if (k == w->wish_count || w->wishes[k].done)
                break;
            w->left--;
            return HR_STATUS_OK;
        }
        default:
            return codec_failed(d->codec, error, message);
        }
    }
}

/* ---- a request ---- */

static hr_status restart(hr_video_decoder *d, hr_video_request *r, bool *done, hr_error *error)
{
    struct hr_video_work *w = r->work;
    d->codec = &d->codecs[r->device != NULL];
    w->turn = ++d->turn;
    w->run = 0;
    w->next = -1;
    w->decoded = w->bytes = 0;
    r->damaged = 0;
    for (int32_t i = 0; i < w->wish_count; i++)
        w->wishes[i].done = false;
    return next_picture(d, r, done, error);
}

/* Sets the size of the frames from that of the pictures. */
static void set_size(hr_video_request *r, int32_t width, int32_t height)
{
    const bool across = r->rotate && r->video->rotation % 180 != 0;
    r->width = across ? height : width;
    r->height = across ? width : height;
}

/* The size of the frames where none is asked for. */
static hr_status size_of_none(hr_video_decoder *d, hr_video_request *r, hr_error *error)
{
    const int32_t first = 0;
    hr_video_request probe = *r;
    set_size(r, r->video->width, r->video->height);
    if (has_size(r))
        return check_memory(r, error);
    probe.frames = &first;
    probe.count = 1;
    HR_TRY(hr_video_frames_begin(d, &probe, error));
    r->width = probe.width;
    r->height = probe.height;
    return check_memory(r, error);
}

static hr_status begin(hr_video_decoder *d, hr_video_request *r, hr_error *error)
{
    struct hr_video_work *w = hr_arena_alloc(r->arena, sizeof(*w), error);
    bool done = false;
    if (!w)
        return HR_STATUS_NO_MEMORY;
    *w = (struct hr_video_work){.next = -1};
    r->work = w;
    if (r->video->codec <= HR_VIDEO_CODEC_NONE || r->video->codec >= HR_VIDEO_CODEC_COUNT)
        return hr_fail(error, HR_STATUS_ERROR, "the codec of the video is not supported");
    if (r->rotate && r->video->rotation < 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the container turns the frames by an angle that is not a multiple of 90 "
                       "degrees, which `rotate` does not support");
    HR_TRY(hr_video_plan_make(r->video, r->frames, r->count, r->arena, &w->plan, error));
    for (int32_t i = 0; r->device && i < w->plan.run_count; i++)
        if (r->video->packets[w->plan.runs[i].first].flags & HR_VIDEO_PACKET_REFRESH)
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "only decoders on the CPU begin without a key frame");
    HR_TRY(make_wishes(w, r, error));
    if (w->wish_count == 0) {
        r->device = NULL;
        return size_of_none(d, r, error);
    }
    HR_TRY(restart(d, r, &done, error));
    w->started = true;
    set_size(r, w->picture.width, w->picture.height);
    return check_memory(r, error);
}

hr_status hr_video_frames_begin(hr_video_decoder *d, hr_video_request *r, hr_error *error)
{
    if (r->device && begin(d, r, NULL) == HR_STATUS_OK)
        return HR_STATUS_OK;
    r->device = NULL; /* the CPU decodes more, and says what is wrong */
    return begin(d, r, error);
}

void *hr_video_frames_stream(const hr_video_decoder *d)
{
    return d->codec->module->stream(d->codec->decoder);
}

/* Writes the pixels of the picture in hand. */
static hr_status put_pixels(hr_video_decoder *d, const hr_video_request *r, uint8_t *dst,
                            hr_error *error)
{
    const hr_video_picture *p = &r->work->picture;
    const bool is_vp9 = r->video->codec == HR_VIDEO_CODEC_VP9;
    char message[HR_VIDEO_MESSAGE] = "";
    hr_video_form form = {.ycbcr = r->ycbcr,
                          .place = hr_yuv_place_of(p->width, p->height,
                                                   r->rotate ? r->video->rotation : 0,
                                                   r->rotate && r->video->mirrored)};
    HR_TRY(hr_video_colors_of(r->space, r->video, is_vp9 ? &r->work->signal : &p->signal, p->bits,
                              &form.colors, error));
    if (!r->device)
        return hr_video_pixels(r->kernels, p, &form, dst, &d->scratch, error);
    if (d->codec->module->store(d->codec->decoder, &form, dst, message))
        return HR_STATUS_OK;
    return codec_failed(d->codec, error, message);
}

/* Writes the picture in hand wherever it is wished. */
static hr_status store(hr_video_decoder *d, hr_video_request *r, uint8_t *dst, hr_error *error)
{
    struct hr_video_work *w = r->work;
    const size_t frame = (size_t)r->width * (size_t)r->height * 3;
    const hr_video_picture *p = &w->picture;
    int32_t first = find_wish(w, p->id);
    uint8_t *pixels = dst + (size_t)w->wishes[first].position * frame;
    hr_video_request own = *r;
    set_size(&own, p->width, p->height);
    if (own.width != r->width || own.height != r->height)
        return hr_fail(
            error, HR_STATUS_ERROR, "frame %d has %d x %d pixels, but the first one has %d x %d",
            r->frames[w->wishes[first].position], own.width, own.height, r->width, r->height);
    HR_TRY(put_pixels(d, r, pixels, error));
    r->damaged += p->damaged;
    for (int32_t i = first; i < w->wish_count && w->wishes[i].packet == p->id; i++) {
        uint8_t *again = dst + (size_t)w->wishes[i].position * frame;
        if (i > first && r->device)
            HR_TRY(put_pixels(d, r, again, error));
        else if (i > first)
            memcpy(again, pixels, frame);
        w->wishes[i].done = true;
    }
    return HR_STATUS_OK;
}

static hr_status fill_frame(hr_video_decoder *d, const hr_video_request *r, uint8_t *dst,
                            hr_error *error)
{
    const size_t pixels = (size_t)r->width * (size_t)r->height;
    char message[HR_VIDEO_MESSAGE] = "";
    if (r->device && !d->codec->module->fill(d->codec->decoder, r->fill, pixels, dst, message))
        return codec_failed(d->codec, error, message);
    for (size_t i = 0; i < pixels && !r->device; i++)
        memcpy(dst + 3 * i, r->fill, 3);
    return HR_STATUS_OK;
}

static hr_status decode_all(hr_video_decoder *d, hr_video_request *r, uint8_t *dst, hr_error *error)
{
    struct hr_video_work *w = r->work;
    const size_t frame = (size_t)r->width * (size_t)r->height * 3;
    bool done = w->wish_count == 0;
    if (w->started && w->turn != d->turn)
        HR_TRY(restart(d, r, &done, error));
    w->started = false;
    for (int32_t i = 0; i < r->count; i++)
        if (r->frames[i] < 0)
            HR_TRY(fill_frame(d, r, dst + (size_t)i * frame, error));
    while (!done) {
        HR_TRY(store(d, r, dst, error));
        HR_TRY(next_picture(d, r, &done, error));
    }
    return HR_STATUS_OK;
}

hr_status hr_video_frames_finish(hr_video_decoder *d, hr_video_request *r, uint8_t *dst,
                                 hr_error *error)
{
    char message[HR_VIDEO_MESSAGE] = "";
    hr_status status = decode_all(d, r, dst, error);
    /* after a failure, too: what was queued writes to `dst` */
    bool done =
        !r->device || !d->codec->decoder || d->codec->module->finish(d->codec->decoder, message);
    return done || status != HR_STATUS_OK ? status : codec_failed(d->codec, error, message);
}
