/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by all codecs: detection, limits, EXIF orientation, colours and element types. A codec
 * writes directly to the destination if the last three need no work. */
#include "codecs/codec.h"

#include "codecs/foreign.h"

#include <string.h>

/* ---- header ---- */

hr_status hr_image_set_pages(hr_image_info *info, int32_t pages, int32_t others, hr_error *error)
{
    info->pages = HR_MAX(pages, 1);
    info->others = others;
    if (info->page < info->pages && (info->page == 0 || info->codec->paged))
        return HR_STATUS_OK;
    if (info->page < info->pages)
        return hr_fail(error, HR_STATUS_ERROR,
                       "page %d: of a %s file with several images, only the first (page 0) can be "
                       "decoded",
                       info->page, info->codec->name);
    return hr_fail(error, HR_STATUS_ERROR, "no page %d: the file has %d, numbered from 0",
                   info->page, info->pages);
}

hr_status hr_image_peek_page(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                             hr_image_info *info, hr_error *error)
{
    *info = (hr_image_info){.page = page};
    if (size == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "the file is empty");
    for (int i = 0; hr_codecs[i]; i++) {
        if (!hr_codecs[i]->match(bytes, size))
            continue;
        info->codec = hr_codecs[i];
        HR_TRY(info->codec->header(bytes, size, info, error));
        if (info->pages == 0)
            HR_TRY(hr_image_set_pages(info, 1, 0, error));
        if ((int64_t)info->height * info->width > max_pixels)
            return hr_fail(error, HR_STATUS_LIMIT,
                           "an image of %dx%d pixels (width x height) is over the limit of %lld "
                           "pixels (max_image_pixels)",
                           info->width, info->height, (long long)max_pixels);
        return HR_STATUS_OK;
    }
    const char *foreign = hr_image_foreign(bytes, size);
    return hr_fail(
        error, HR_STATUS_CORRUPT,
        "%s%s; the formats are JPEG, JPEG 2000, PNG, GIF, BMP, PNM, TIFF, WebP, AVIF, HEIC and "
        "JPEG XL",
        foreign ? foreign : "not an image format that this build reads",
        foreign ? " images are not supported" : "");
}

hr_status hr_image_peek(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                        hr_error *error)
{
    return hr_image_peek_page(bytes, size, 0, max_pixels, info, error);
}

hr_status hr_image_probe_page(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                              hr_image_info *info, hr_error *error)
{
    HR_TRY(hr_image_peek_page(bytes, size, page, max_pixels, info, error));
    int64_t pixels = (int64_t)info->height * info->width, there = pixels;
    if (info->codec->check)
        HR_TRY(info->codec->check(bytes, size, info, &there, error));
    if (there >= pixels - HR_IMAGE_SLACK)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "a %s file of %zu bytes cannot hold an image of %dx%d pixels (width x height)",
                   info->codec->name, size, info->width, info->height);
}

hr_status hr_image_probe(const uint8_t *bytes, size_t size, int64_t max_pixels, hr_image_info *info,
                         hr_error *error)
{
    return hr_image_probe_page(bytes, size, 0, max_pixels, info, error);
}

hr_status hr_image_warn_others(const hr_image_info *info, const char *advice, hr_task *task,
                               hr_error *error)
{
    if (info->others == 0)
        return HR_STATUS_OK;
    return hr_task_warn(task, error, "the file has %d more %s, which are left out%s", info->others,
                        info->codec->paged ? "pages" : "images", advice);
}

hr_status hr_image_affordable(size_t bytes, size_t size, hr_error *error)
{
    if (bytes <= HR_IMAGE_MEMORY || (bytes - HR_IMAGE_MEMORY) / HR_IMAGE_MEMORY_PER_BYTE <= size)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "decoding needs %zu bytes of memory in addition to the image, too much for "
                   "a file of %zu bytes",
                   bytes, size);
}

hr_status hr_image_count(hr_arena *arena, size_t bytes, size_t size, hr_error *error)
{
    HR_TRY(hr_image_affordable(bytes, size, error));
    return hr_arena_count(arena, bytes, error);
}

hr_turn hr_image_turn(const hr_image_info *info, bool adjust_orientation)
{
    static const hr_turn turns[8] = {
        {false, false, false}, {false, false, true}, {false, true, true}, {false, true, false},
        {true, false, false},  {true, true, false},  {true, true, true},  {true, false, true}};
    bool known = info->orientation >= 1 && info->orientation <= 8;
    return turns[adjust_orientation && known ? info->orientation - 1 : 0];
}

hr_steps hr_image_steps(const hr_codec_request *request, int64_t pixel)
{
    const hr_window *w = &request->window;
    hr_turn t = request->turn;
    int64_t stride = (int64_t)request->stride;
    hr_steps s = {.stride = stride,
                  .rows = t.swap ? w->w : w->h,
                  .y = t.swap ? pixel : stride,
                  .x = t.swap ? stride : pixel};
    s.first = (t.flip_y ? (w->h - 1) * s.y : 0) + (t.flip_x ? (w->w - 1) * s.x : 0);
    s.y = t.flip_y ? -s.y : s.y;
    s.x = t.flip_x ? -s.x : s.x;
    return s;
}

void hr_image_extent(const hr_image_info *info, bool adjust_orientation, int64_t *height,
                     int64_t *width)
{
    bool swap = hr_image_turn(info, adjust_orientation).swap;
    *height = swap ? info->width : info->height;
    *width = swap ? info->height : info->width;
}

bool hr_image_dtype_ok(hr_dtype dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
    case HR_DTYPE_INT8:
    case HR_DTYPE_UINT16:
    case HR_DTYPE_INT16:
    case HR_DTYPE_INT32:
    case HR_DTYPE_FLOAT:
        return true;
    default:
        return false;
    }
}

int32_t hr_image_type_channels(const hr_image_info *info, hr_image_type type)
{
    if (type == HR_IMAGE_TYPE_ANY_DATA)
        return info->channels;
    return type == HR_IMAGE_TYPE_GRAY ? 1 : 3;
}

/* ---- turning ---- */

static hr_window stored_window(const hr_image_info *info, hr_turn t, hr_window w)
{
    if (t.swap)
        w = (hr_window){.y = w.x, .x = w.y, .h = w.w, .w = w.h};
    if (t.flip_y)
        w.y = info->height - w.y - w.h;
    if (t.flip_x)
        w.x = info->width - w.x - w.w;
    return w;
}

/* Copies n pixels that are `step` bytes apart. */
static void gather(uint8_t *dst, const uint8_t *src, ptrdiff_t step, size_t n, size_t pixel)
{
    if (pixel == 1) {
        for (size_t i = 0; i < n; i++, src += step)
            dst[i] = *src;
    } else if (pixel == 3) {
        for (size_t i = 0; i < n; i++, src += step, dst += 3) {
            dst[0] = src[0];
            dst[1] = src[1];
            dst[2] = src[2];
        }
    } else {
        for (size_t i = 0; i < n; i++, src += step, dst += pixel)
            memcpy(dst, src, pixel);
    }
}

/* Row `y` of the delivered window, from the stored window of h x w pixels. */
static void turn_row(uint8_t *dst, const uint8_t *stored, hr_turn t, int64_t h, int64_t w,
                     int64_t y, size_t pixel)
{
    ptrdiff_t step_x = (ptrdiff_t)pixel, step_y = (ptrdiff_t)w * step_x;
    if (t.flip_y) {
        stored += (h - 1) * step_y;
        step_y = -step_y;
    }
    if (t.flip_x) {
        stored += (w - 1) * step_x;
        step_x = -step_x;
    }
    if (t.swap)
        gather(dst, stored + y * step_x, step_y, (size_t)h, pixel);
    else
        gather(dst, stored + y * step_y, step_x, (size_t)w, pixel);
}

/* ---- colours, in the file's own type ---- */

/* 0.299, 0.587, 0.114 in fixed point; they sum to 1. */
typedef struct weights {
    uint32_t r, g, b, bits;
} weights;

static weights luma_weights(int32_t bits)
{
    if (bits == 16)
        return (weights){19595, 38470, 7471, 16};
    return bits == 14 ? (weights){4899, 9617, 1868, 14} : (weights){9798, 19235, 3735, 15};
}

static uint32_t luma(weights w, uint32_t r, uint32_t g, uint32_t b)
{
    return (w.r * r + w.g * g + w.b * b + (1u << (w.bits - 1))) >> w.bits;
}

static void luma_u8(uint8_t *dst, const uint8_t *rgb, size_t n, weights w)
{
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = (uint8_t)luma(w, rgb[0], rgb[1], rgb[2]);
}

static void luma_u16(uint16_t *dst, const uint16_t *rgb, size_t n, weights w)
{
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = (uint16_t)luma(w, rgb[0], rgb[1], rgb[2]);
}

static void luma_float(float *dst, const float *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
}

/* Swaps red and blue in place. */
static void swap_red_blue(void *row, size_t n, int32_t bits)
{
    uint8_t *p = row;
    size_t size = (size_t)bits / 8;
    for (size_t i = 0; i < n; i++, p += 3 * size)
        for (size_t k = 0; k < size; k++) {
            uint8_t red = p[k];
            p[k] = p[2 * size + k];
            p[2 * size + k] = red;
        }
}

/* ---- element types ---- */

/* DALI's rule: an integer type spans 0 .. its largest value, a float 0 .. 1. */
static float type_top(hr_dtype dtype)
{
    return dtype == HR_DTYPE_FLOAT ? 1.0f : (float)hr_dtype_max(dtype);
}

/* Stores `v`, given in units of the type: half away from zero, saturated. */
static void store(void *dst, hr_dtype dtype, size_t i, float v)
{
    if (dtype == HR_DTYPE_FLOAT) {
        ((float *)dst)[i] = v;
        return;
    }
    float low = (float)hr_dtype_min(dtype), high = (float)hr_dtype_max(dtype);
    int32_t whole;
    if (v >= high)
        whole = (int32_t)hr_dtype_max(dtype);
    else if (!(v > low)) /* also NaN, which a file may hold */
        whole = (int32_t)hr_dtype_min(dtype);
    else /* in double, adding a half is exact */
        whole = (int32_t)((double)v + (v < 0 ? -0.5 : 0.5));
    switch (dtype) {
    case HR_DTYPE_UINT8:
        ((uint8_t *)dst)[i] = (uint8_t)whole;
        break;
    case HR_DTYPE_INT8:
        ((int8_t *)dst)[i] = (int8_t)whole;
        break;
    case HR_DTYPE_UINT16:
        ((uint16_t *)dst)[i] = (uint16_t)whole;
        break;
    case HR_DTYPE_INT16:
        ((int16_t *)dst)[i] = (int16_t)whole;
        break;
    default:
        ((int32_t *)dst)[i] = whole;
        break;
    }
}

/* The type of decoded elements. */
static hr_dtype native_type(int32_t bits)
{
    return bits == 32 ? HR_DTYPE_FLOAT : bits == 16 ? HR_DTYPE_UINT16 : HR_DTYPE_UINT8;
}

hr_dtype hr_image_own_dtype(const hr_image_info *info)
{
    return native_type(info->bits);
}

static float load(const void *src, int32_t bits, size_t i)
{
    if (bits == 32)
        return ((const float *)src)[i];
    return bits == 16 ? (float)((const uint16_t *)src)[i] : (float)((const uint8_t *)src)[i];
}

static void u8_to_float(float *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i] * (1.0f / 255);
}

static void u16_to_u8(uint8_t *dst, const uint16_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((src[i] + 128u) / 257u);
}

static void convert_row(void *dst, hr_dtype dtype, const void *src, int32_t bits, size_t n)
{
    if (dtype == native_type(bits)) {
        memcpy(dst, src, n * (size_t)bits / 8);
    } else if (bits == 8 && dtype == HR_DTYPE_FLOAT) {
        u8_to_float(dst, src, n);
    } else if (bits == 16 && dtype == HR_DTYPE_UINT8) {
        u16_to_u8(dst, src, n);
    } else {
        float unit = 1.0f / type_top(native_type(bits)), top = type_top(dtype);
        for (size_t i = 0; i < n; i++)
            store(dst, dtype, i, load(src, bits, i) * unit * top);
    }
}

/* Studio-range BT.601, computed in the output's type: the unit is the type's largest value; the
 * offsets are 1/16 and 1/2 of its number of values (of 1 for floats). */
static void ycbcr_row(void *dst, hr_dtype dtype, const void *src, int32_t bits, size_t n)
{
    static const float m[3][3] = {{0.25678824f, 0.50412941f, 0.09790588f},
                                  {-0.14822290f, -0.29099279f, 0.43921569f},
                                  {0.43921569f, -0.36778831f, -0.07142737f}};
    float top = type_top(dtype), range = dtype == HR_DTYPE_FLOAT ? 1.0f : top + 1.0f;
    float scale = top / type_top(native_type(bits));
    if (dtype == HR_DTYPE_INT32) /* as a float, top is already rounded up to 2^31 */
        range = top;
    for (size_t i = 0; i < n; i++) {
        float r = load(src, bits, 3 * i), g = load(src, bits, 3 * i + 1),
              b = load(src, bits, 3 * i + 2);
        for (size_t k = 0; k < 3; k++) {
            float v = m[k][0] * r + m[k][1] * g + m[k][2] * b;
            store(dst, dtype, 3 * i + k, v * scale + range * (k == 0 ? 0.0625f : 0.5f));
        }
    }
}

/* ---- decoding ---- */

/* A decode that cannot write directly to the destination. */
typedef struct conversion {
    hr_image_type type;
    hr_dtype dtype;
    int32_t bits, decoded, delivered; /* channels */
    weights luma;
} conversion;

/* Delivers one row. `row` holds n decoded pixels and is overwritten; `grey` is scratch for n grey
 * ones. */
static void deliver_row(const conversion *v, void *dst, void *row, void *grey, size_t n)
{
    if (v->type == HR_IMAGE_TYPE_YCBCR) {
        ycbcr_row(dst, v->dtype, row, v->bits, n);
        return;
    }
    if (v->type == HR_IMAGE_TYPE_BGR)
        swap_red_blue(row, n, v->bits);
    if (v->decoded != v->delivered) {
        if (v->bits == 32)
            luma_float(grey, row, n);
        else if (v->bits == 16)
            luma_u16(grey, row, n, v->luma);
        else
            luma_u8(grey, row, n, v->luma);
        row = grey;
    }
    convert_row(dst, v->dtype, row, v->bits, n * (size_t)v->delivered);
}

static hr_status decode_indirect(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                 const hr_decode_request *q, const conversion *v, hr_turn t,
                                 hr_op_call *c, hr_error *error)
{
    hr_codec_request stored = {.window = stored_window(info, t, q->window),
                               .channels = v->decoded,
                               .animation = q->animation};
    size_t pixel = (size_t)v->decoded * (size_t)(v->bits / 8), bytes_needed;
    int64_t h = stored.window.h, w = stored.window.w;
    stored.stride = (size_t)w * pixel;
    if (!hr_size_mul(stored.stride, (size_t)h, &bytes_needed))
        return hr_fail_memory(error, SIZE_MAX);
    uint8_t *image = hr_arena_alloc(c->arena, bytes_needed, error);
    uint8_t *row = hr_arena_alloc(c->arena, (size_t)q->window.w * pixel, error);
    void *grey = hr_arena_alloc(c->arena, (size_t)q->window.w * 4, error);
    HR_TRY_ALLOC(image && row && grey);
    stored.dst = image;
    HR_TRY(info->codec->decode(bytes, size, info, &stored, c, error));
    for (int64_t y = 0; y < q->window.h; y++) {
        turn_row(row, image, t, h, w, y, pixel);
        deliver_row(v, (uint8_t *)q->dst + (size_t)y * q->stride, row, grey, (size_t)q->window.w);
    }
    return HR_STATUS_OK;
}

static int32_t decoded_channels(const hr_image_info *info, hr_image_type type)
{
    if (type == HR_IMAGE_TYPE_ANY_DATA)
        return info->channels;
    if (type == HR_IMAGE_TYPE_GRAY && (info->channels <= 2 || info->luma || info->codec->grey))
        return 1;
    return 3;
}

static hr_status check_request(const hr_image_info *info, const hr_decode_request *q,
                               hr_error *error)
{
    int64_t height, width;
    hr_image_extent(info, q->adjust_orientation, &height, &width);
    const hr_window *w = &q->window;
    if (w->h < 0 || w->w < 0 || w->y < 0 || w->x < 0 || w->y > height - w->h || w->x > width - w->w)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the window of %lldx%lld pixels (height x width) at row %lld, column %lld "
                       "is not inside the image of %lldx%lld",
                       (long long)w->h, (long long)w->w, (long long)w->y, (long long)w->x,
                       (long long)height, (long long)width);
    if (!hr_image_dtype_ok(q->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "images cannot be decoded to %s; use UINT8, INT8, UINT16, INT16, INT32 or "
                       "FLOAT",
                       hr_dtype_name(q->dtype));
    return HR_STATUS_OK;
}

/* How a request is met: what the codec decodes, and how the rows are converted. */
typedef struct delivery {
    conversion v;
    hr_turn t;
    bool plain;  /* the codec's pixels need no conversion */
    bool direct; /* nor do its rows need turning */
} delivery;

static delivery plan_delivery(const hr_image_info *info, const hr_decode_request *q)
{
    delivery d = {.v = {.type = q->type,
                        .dtype = q->dtype,
                        .bits = info->bits,
                        .decoded = decoded_channels(info, q->type),
                        .delivered = hr_image_type_channels(info, q->type),
                        .luma = luma_weights(info->codec->luma_bits)},
                  .t = hr_image_turn(info, q->adjust_orientation)};
    d.plain = d.v.dtype == native_type(info->bits) && d.v.decoded == d.v.delivered &&
              d.v.type != HR_IMAGE_TYPE_BGR && d.v.type != HR_IMAGE_TYPE_YCBCR;
    d.direct = d.plain && !d.t.swap && !d.t.flip_y && !d.t.flip_x;
    return d;
}

/* Restores HR_STATUS_LIMIT, which codecs report as NO_MEMORY: the file needs more than the limit
 * allows at any time. */
static hr_status memory_status(hr_status status, const hr_error *error)
{
    return status == HR_STATUS_NO_MEMORY && error ? error->status : status;
}

hr_status hr_image_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                          const hr_decode_request *request, hr_op_call *c, hr_error *error)
{
    HR_TRY(check_request(info, request, error));
    if (request->window.h == 0 || request->window.w == 0)
        return HR_STATUS_OK;
    delivery d = plan_delivery(info, request);
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status;
    if (d.direct) {
        hr_codec_request whole = {.window = request->window,
                                  .channels = d.v.decoded,
                                  .dst = request->dst,
                                  .stride = request->stride,
                                  .animation = request->animation};
        status = info->codec->decode(bytes, size, info, &whole, c, error);
    } else {
        status = decode_indirect(bytes, size, info, request, &d.v, d.t, c, error);
    }
    hr_arena_restore(c->arena, mark);
    return memory_status(status, error);
}

struct hr_image_reader {
    hr_image_info *info;
    void *inner;
    delivery d;
    size_t width, pixel;
    uint8_t *stored, *row; /* a row as stored, and oriented; NULL if direct */
    void *grey;
};

/* Records that the codec rejected the file. */
static hr_status note_refusal(hr_image_info *info, hr_status status)
{
    info->refused |= status == HR_STATUS_NOT_FUSABLE;
    return status;
}

hr_status hr_image_open(const uint8_t *bytes, size_t size, hr_image_info *info,
                        const hr_decode_request *request, hr_op_call *c, hr_image_reader **out,
                        hr_error *error)
{
    delivery d = plan_delivery(info, request);
    HR_TRY(check_request(info, request, error));
    if (!info->codec->open || d.t.swap || d.t.flip_y || request->window.h == 0 ||
        request->window.w == 0)
        return HR_STATUS_NOT_FUSABLE;
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_image_reader *r = hr_arena_alloc(c->arena, sizeof *r, error);
    HR_TRY_ALLOC(r);
    *r = (hr_image_reader){.info = info, .d = d, .width = (size_t)request->window.w};
    r->pixel = (size_t)d.v.decoded * (size_t)(d.v.bits / 8);
    if (!d.direct) {
        r->stored = hr_arena_alloc(c->arena, r->width * r->pixel, error);
        r->row = hr_arena_alloc(c->arena, r->width * r->pixel, error);
        r->grey = hr_arena_alloc(c->arena, r->width * 4, error);
        HR_TRY_ALLOC(r->stored && r->row && r->grey);
    }
    hr_codec_request stored = {.window = stored_window(info, d.t, request->window),
                               .channels = d.v.decoded};
    *out = r;
    hr_status status = info->codec->open(bytes, size, info, &stored, c, &r->inner, error);
    if (status != HR_STATUS_OK)
        hr_arena_restore(c->arena, mark);
    return memory_status(note_refusal(info, status), error);
}

hr_status hr_image_read(hr_image_reader *r, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    if (r->d.direct)
        return note_refusal(r->info, r->info->codec->read(r->inner, dst, stride, rows, error));
    for (int32_t y = 0; y < rows; y++) {
        HR_TRY(note_refusal(r->info, r->info->codec->read(r->inner, r->stored, 0, 1, error)));
        turn_row(r->row, r->stored, r->d.t, 1, (int64_t)r->width, 0, r->pixel);
        deliver_row(&r->d.v, (uint8_t *)dst + (size_t)y * stride, r->row, r->grey, r->width);
    }
    return HR_STATUS_OK;
}

hr_status hr_image_stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_decode_request *request, hr_op_call *c, hr_staging *staging,
                         hr_arena *lasting, struct hr_coded *out, hr_error *error)
{
    delivery d = plan_delivery(info, request);
    HR_TRY(check_request(info, request, error));
    if (!info->codec->stage || !d.plain || request->window.h == 0 || request->window.w == 0)
        return HR_STATUS_NOT_FUSABLE;
    hr_codec_request stored = {.window = stored_window(info, d.t, request->window),
                               .turn = d.t,
                               .channels = d.v.decoded,
                               .stride = (size_t)request->window.w * (size_t)d.v.decoded};
    return info->codec->stage(bytes, size, info, &stored, c, staging, lasting, out, error);
}
