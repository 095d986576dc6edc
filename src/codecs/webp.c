/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* WebP, lossy and lossless, and animations, through libwebp. A window is decoded with a margin,
 * because libwebp upsamples the chroma of a crop without looking at the pixels around it. */
#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "codecs/exif.h"

#include <stdio.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

enum {
    RIFF_HEADER = 12,
    CHUNK_HEADER = 8,
    FRAME_HEADER = 16,
    EXTENDED = 10,         /* bytes of VP8X */
    EXTENDED_ALPHA = 0x10, /* its flag */
    MARGIN = 4,
    ALPHA_CHANNELS = 4,
    LOSSLESS = 2,             /* WebPBitstreamFeatures.format */
    LOSSLESS_PIXELS = 1 << 15 /* per byte */
};

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= RIFF_HEADER && memcmp(bytes, "RIFF", 4) == 0 &&
           memcmp(bytes + 8, "WEBP", 4) == 0;
}

/* A chunk's contents; `at` is moved behind it. False at the end of the file, and before a chunk
 * that is cut off. */
static bool next_chunk(const uint8_t *bytes, size_t size, size_t *at, const uint8_t **body,
                       size_t *length)
{
    if (size - *at < CHUNK_HEADER)
        return false;
    *length = hr_get_le32(bytes + *at + 4);
    *body = bytes + *at + CHUNK_HEADER;
    size_t left = size - *at - CHUNK_HEADER;
    if (*length > left)
        return false;
    *at += CHUNK_HEADER + HR_MIN(*length + (*length & 1), left);
    return true;
}

static bool is_chunk(const uint8_t *body, const char *name)
{
    return memcmp(body - CHUNK_HEADER, name, 4) == 0;
}

static int32_t find_orientation(const uint8_t *bytes, size_t size)
{
    size_t at = RIFF_HEADER, length;
    for (const uint8_t *body; next_chunk(bytes, size, &at, &body, &length);)
        if (is_chunk(body, "EXIF"))
            return hr_exif_orientation(body, length);
    return 1;
}

/* ---- animations ---- */

/* The first frame of an animation: where it is, and its image as a file of its own. */
typedef struct frame {
    int32_t x, y, width, height, count;
    const uint8_t *data; /* chunks: alpha and a lossy image, or a lossless one */
    size_t size;
    bool alpha; /* in a chunk of its own */
} frame;

static uint32_t get_le24(const uint8_t *p)
{
    return hr_get_le16(p) | (uint32_t)p[2] << 16;
}

static hr_status find_frame(const uint8_t *bytes, size_t size, frame *f, hr_error *error)
{
    size_t at = RIFF_HEADER, length;
    *f = (frame){0};
    for (const uint8_t *body; next_chunk(bytes, size, &at, &body, &length);) {
        if (!is_chunk(body, "ANMF") || f->count++ > 0)
            continue;
        if (length < FRAME_HEADER + CHUNK_HEADER)
            break;
        f->x = 2 * (int32_t)get_le24(body);
        f->y = 2 * (int32_t)get_le24(body + 3);
        f->width = (int32_t)get_le24(body + 6) + 1;
        f->height = (int32_t)get_le24(body + 9) + 1;
        f->data = body + FRAME_HEADER;
        f->size = length - FRAME_HEADER;
        f->alpha = memcmp(f->data, "ALPH", 4) == 0;
    }
    if (hr_get_le32(bytes + 4) > size - CHUNK_HEADER) /* frames are missing, at least one */
        f->count++;
    return f->data ? HR_STATUS_OK
                   : hr_fail(error, HR_STATUS_CORRUPT, "WebP: the first frame is not in the file");
}

static void put_le(uint8_t *p, uint32_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* The frame as a file. */
static uint8_t *make_file(const frame *f, size_t *size, hr_arena *arena, hr_error *error)
{
    size_t head = RIFF_HEADER + (f->alpha ? CHUNK_HEADER + EXTENDED : 0);
    uint8_t *file = hr_arena_alloc(arena, head + f->size, error);
    if (!file)
        return NULL;
    *size = head + f->size;
    memset(file, 0, head);
    memcpy(file, "RIFF", 4);
    put_le(file + 4, (uint32_t)(*size - CHUNK_HEADER), 4);
    memcpy(file + 8, "WEBP", 4);
    if (f->alpha) {
        uint8_t *extended = file + RIFF_HEADER;
        memcpy(extended, "VP8X", 4);
        put_le(extended + 4, EXTENDED, 4);
        extended[CHUNK_HEADER] = EXTENDED_ALPHA;
        put_le(extended + CHUNK_HEADER + 4, (uint32_t)f->width - 1, 3);
        put_le(extended + CHUNK_HEADER + 7, (uint32_t)f->height - 1, 3);
    }
    memcpy(file + head, f->data, f->size);
    return file;
}

static const char *status_text(VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return "no memory";
    case VP8_STATUS_BITSTREAM_ERROR:
        return "the data is damaged";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "the file needs a feature that libwebp does not support";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "the file ends early";
    default:
        return "libwebp rejected the request";
    }
}

static hr_status fail(hr_error *error, VP8StatusCode code)
{
    hr_status status = code == VP8_STATUS_OUT_OF_MEMORY ? HR_STATUS_NO_MEMORY : HR_STATUS_CORRUPT;
    return hr_fail(error, status, "WebP: %s", status_text(code));
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(bytes, size, &features);
    if (code != VP8_STATUS_OK)
        return fail(error, code);
    if (features.has_animation) {
        frame f;
        HR_TRY(find_frame(bytes, size, &f, error));
        if (f.x > features.width - f.width || f.y > features.height - f.height)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "WebP: the first frame is not inside the image");
        HR_TRY(hr_image_set_pages(info, f.count, f.count - 1, error));
    }
    info->height = features.height;
    info->width = features.width;
    info->channels = features.has_alpha ? 4 : 3;
    info->bits = 8;
    info->orientation = find_orientation(bytes, size);
    return HR_STATUS_OK;
}

/* A lossless file stores pixels of one colour in no bytes at all, and libwebp takes four bytes of
 * memory for each. LOSSLESS_PIXELS is the compression that we accept. */
static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    WebPBitstreamFeatures features;
    (void)info;
    (void)error;
    if (WebPGetFeatures(bytes, size, &features) == VP8_STATUS_OK && features.format == LOSSLESS)
        *pixels = (int64_t)HR_MIN(size, UINT32_MAX) * LOSSLESS_PIXELS;
    return HR_STATUS_OK;
}

/* The window with a margin, starting at even positions because chroma has half the resolution. */
static hr_window with_margin(const hr_image_info *info, hr_window w)
{
    hr_window wide = {.y = HR_MAX(w.y - MARGIN, 0) & ~(int64_t)1,
                      .x = HR_MAX(w.x - MARGIN, 0) & ~(int64_t)1};
    wide.h = HR_MIN(w.y + w.h + MARGIN, info->height) - wide.y;
    wide.w = HR_MIN(w.x + w.w + MARGIN, info->width) - wide.x;
    return wide;
}

/* Whether the alpha of a row depends on the rows above it, which libwebp forgets where they are not
 * part of a crop: the filter of the alpha plane may predict the first value of a row from them. */
static bool alpha_needs_rows_above(const uint8_t *bytes, size_t size)
{
    WebPBitstreamFeatures features;
    return WebPGetFeatures(bytes, size, &features) == VP8_STATUS_OK && features.has_alpha &&
           features.format != LOSSLESS;
}

/* Bytes that libwebp keeps for the whole image: four per pixel of a lossless file, one (alpha) of
 * a lossy one. */
static size_t memory_of(const uint8_t *bytes, size_t size, const hr_image_info *info)
{
    WebPBitstreamFeatures features;
    size_t pixels = (size_t)info->height * (size_t)info->width;
    if (WebPGetFeatures(bytes, size, &features) != VP8_STATUS_OK)
        return 0;
    return features.format == LOSSLESS ? 4 * pixels : features.has_alpha ? pixels : 0;
}

static hr_status decode_into(const uint8_t *bytes, size_t size, const hr_image_info *info,
                             hr_window w, int32_t channels, uint8_t *dst, size_t stride,
                             hr_arena *arena, hr_error *error)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config) || stride > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "WebP: the decoder could not be set up");
    config.options.use_cropping = w.h != info->height || w.w != info->width;
    config.options.crop_left = (int)w.x;
    config.options.crop_top = (int)w.y;
    config.options.crop_width = (int)w.w;
    config.options.crop_height = (int)w.h;
    config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = dst;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * (size_t)(w.h - 1) + (size_t)w.w * (size_t)channels;
    size_t counted = memory_of(bytes, size, info);
    HR_TRY(hr_image_count(arena, counted, size, error));
    VP8StatusCode code = WebPDecode(bytes, size, &config);
    WebPFreeDecBuffer(&config.output);
    hr_arena_uncount(arena, counted);
    return code == VP8_STATUS_OK ? HR_STATUS_OK : fail(error, code);
}

static hr_status decode_window(const uint8_t *bytes, size_t size, const hr_image_info *info,
                               const hr_codec_request *request, hr_arena *arena, hr_error *error)
{
    hr_window w = request->window, wide = with_margin(info, w);
    int32_t channels = request->channels;
    if (channels == ALPHA_CHANNELS && alpha_needs_rows_above(bytes, size)) {
        wide.h += wide.y;
        wide.y = 0;
    }
    if (wide.h == w.h && wide.w == w.w)
        return decode_into(bytes, size, info, w, channels, request->dst, request->stride, arena,
                           error);
    size_t pixel = (size_t)channels, stride = (size_t)wide.w * pixel, needed;
    if (!hr_size_mul(stride, (size_t)wide.h, &needed))
        return hr_fail_memory(error, SIZE_MAX);
    uint8_t *rows = hr_arena_alloc(arena, needed, error);
    HR_TRY_ALLOC(rows);
    HR_TRY(decode_into(bytes, size, info, wide, channels, rows, stride, arena, error));
    rows += (size_t)(w.y - wide.y) * stride + (size_t)(w.x - wide.x) * pixel;
    for (int64_t y = 0; y < w.h; y++)
        memcpy((uint8_t *)request->dst + (size_t)y * request->stride, rows + (size_t)y * stride,
               (size_t)w.w * pixel);
    return HR_STATUS_OK;
}

/* The window of the first frame. Outside the frame, the image is transparent and black. */
static hr_status decode_frame(const uint8_t *bytes, size_t size, const hr_codec_request *request,
                              hr_arena *arena, hr_error *error)
{
    WebPBitstreamFeatures features;
    frame f;
    HR_TRY(find_frame(bytes, size, &f, error));
    uint8_t *file = make_file(&f, &size, arena, error);
    HR_TRY_ALLOC(file);
    VP8StatusCode code = WebPGetFeatures(file, size, &features);
    if (code != VP8_STATUS_OK)
        return fail(error, code);
    if (features.width != f.width || features.height != f.height || features.has_animation)
        return hr_fail(error, HR_STATUS_CORRUPT, "WebP: the first frame gives two sizes");
    const hr_image_info info = {.height = f.height, .width = f.width};
    hr_codec_request part = *request;
    hr_window *w = &part.window;
    int64_t x0 = HR_MAX(w->x, f.x), x1 = HR_MIN(w->x + w->w, f.x + f.width);
    int64_t y0 = HR_MAX(w->y, f.y), y1 = HR_MIN(w->y + w->h, f.y + f.height);
    size_t pixel = (size_t)request->channels;
    for (int64_t y = 0; y < w->h; y++)
        memset((uint8_t *)part.dst + (size_t)y * part.stride, 0, (size_t)w->w * pixel);
    if (x0 >= x1 || y0 >= y1)
        return HR_STATUS_OK;
    part.dst =
        (uint8_t *)part.dst + (size_t)(y0 - w->y) * part.stride + (size_t)(x0 - w->x) * pixel;
    *w = (hr_window){.y = y0 - f.y, .x = x0 - f.x, .h = y1 - y0, .w = x1 - x0};
    return decode_window(file, size, &info, &part, arena, error);
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    WebPBitstreamFeatures features;
    if (request->animation || info->page > 0)
        return hr_animation_decode(bytes, size, info, request, c, error);
    if (WebPGetFeatures(bytes, size, &features) == VP8_STATUS_OK && features.has_animation)
        return decode_frame(bytes, size, request, c->arena, error);
    return decode_window(bytes, size, info, request, c->arena, error);
}

/* ---- all frames ---- */

typedef struct webp_frames {
    WebPAnimDecoder *decoder;
    hr_arena *arena;
    size_t counted;
} webp_frames;

static void still(void *state)
{
    webp_frames *f = state;
    WebPAnimDecoderDelete(f->decoder);
    hr_arena_uncount(f->arena, f->counted);
}

static hr_status animate(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         hr_op_call *c, void **state, hr_error *error)
{
    const WebPData data = {bytes, size};
    WebPAnimDecoderOptions options;
    webp_frames *f = hr_arena_alloc(c->arena, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    /* The image twice, and what a frame of a lossless file takes. */
    *f = (webp_frames){.arena = c->arena,
                       .counted = (size_t)info->height * (size_t)info->width * 3 * ALPHA_CHANNELS};
    HR_TRY(hr_image_count(c->arena, f->counted, size, error));
    if (WebPAnimDecoderOptionsInit(&options)) {
        options.color_mode = MODE_RGBA;
        f->decoder = WebPAnimDecoderNew(&data, &options);
    }
    if (!f->decoder) {
        still(f);
        return hr_fail(error, HR_STATUS_CORRUPT, "WebP: libwebp rejected the animation");
    }
    *state = f;
    return HR_STATUS_OK;
}

static hr_status next_frame(void *state, const uint8_t **rgba, hr_error *error)
{
    const webp_frames *f = state;
    uint8_t *image;
    int time;
    if (!WebPAnimDecoderHasMoreFrames(f->decoder) ||
        !WebPAnimDecoderGetNext(f->decoder, &image, &time))
        return hr_fail(error, HR_STATUS_CORRUPT, "WebP: a frame is damaged");
    *rgba = image;
    return HR_STATUS_OK;
}

/* The version of the library that runs is only known as a number. */
static const char *version(void)
{
    static const char *const names[] = {"1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"};
    int number = WebPGetDecoderVersion(), minor = number >> 8 & 0xFF;
    bool known = number >> 16 == 1 && minor < (int)HR_COUNT_OF(names);
    return known ? names[minor] : "unknown";
}

const hr_codec hr_codec_webp = {
    .name = "webp",
    .library = "libwebp",
    .version = version,
    .match = match,
    .header = header,
    .check = check,
    .decode = decode,
    .animate = animate,
    .frame = next_frame,
    .still = still,
    .paged = true,
    .luma_bits = 15,
};
