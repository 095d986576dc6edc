/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The pages of a TIFF file as the slices of a volume, with the values that are stored. */
#include "codecs/volume/volume.h"

#include "codecs/codec.h"
#include "codecs/tiff/directory.h"

#include <string.h>

enum { MAX_PAGES = 1 << 14 }; /* finding page i takes i steps */

typedef struct stack {
    const uint8_t *bytes;
    size_t size;
    int32_t pages, channels;
    hr_image_info *info;      /* of each page */
    uint32_t bits;            /* of the stored values; 0: those of the codec */
    bool is_signed, inverted; /* `inverted`: the codec makes white of 0 */
} stack;

static hr_dtype stored_type(const stack *s)
{
    if (s->is_signed)
        return s->bits > 8 ? HR_DTYPE_INT16 : HR_DTYPE_INT8;
    return hr_image_own_dtype(&s->info[0]);
}

static hr_status check_page(const stack *s, int32_t page, const hr_tiff *t, const hr_tiff *first,
                            hr_error *error)
{
    if (t->width != first->width || t->height != first->height || t->bits != first->bits ||
        t->format != first->format || t->photometric != first->photometric ||
        s->info[page].channels != s->channels)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: page %d is not like page 0, so they are not the slices of a volume",
                       page);
    return HR_STATUS_OK;
}

static hr_status read_pages(stack *s, const hr_tiff *first, hr_op_call *c, hr_error *error)
{
    hr_tiff t;
    s->info = hr_arena_alloc(c->arena, (size_t)s->pages * sizeof(*s->info), error);
    if (!s->info)
        return HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < s->pages; i++) {
        HR_TRY(hr_image_probe_page(s->bytes, s->size, i, hr_task_max_pixels(c->task), &s->info[i],
                                   error));
        s->channels = i == 0 ? s->info[0].channels : s->channels;
        HR_TRY(hr_tiff_open(&t, s->bytes, s->size, i, error));
        HR_TRY(check_page(s, i, &t, first, error));
    }
    return HR_STATUS_OK;
}

/* ImageJ puts the slices of a large stack behind the only page, and their number into its text. */
static bool has_hidden_pages(const hr_tiff *t, int32_t pages)
{
    static const char start[] = "ImageJ=", field[] = "\nimages=";
    const char *p = (const char *)t->description.first;
    size_t n = (size_t)t->description.count;
    if (!p || n < sizeof(start) || t->description.size != 1 ||
        memcmp(p, start, sizeof(start) - 1) != 0)
        return false;
    const char *found = memmem(p, n, field, sizeof(field) - 1);
    int64_t images = 0;
    for (p = found ? found + sizeof(field) - 1 : NULL;
         p && p < (const char *)t->description.first + n && *p >= '0' && *p <= '9'; p++)
        images = HR_MIN(10 * images + *p - '0', INT32_MAX);
    return images > pages;
}

static hr_status open(const uint8_t *bytes, size_t size, hr_op_call *c, hr_volume *out,
                      hr_error *error)
{
    hr_tiff first;
    stack *s = hr_arena_alloc(c->arena, sizeof(*s), error);
    if (!s)
        return HR_STATUS_NO_MEMORY;
    *s = (stack){.bytes = bytes, .size = size, .pages = hr_tiff_count(bytes, size).count};
    HR_TRY(hr_tiff_open(&first, bytes, size, 0, error));
    if (s->pages > MAX_PAGES || (int64_t)s->pages * first.width > hr_task_max_pixels(c->task))
        return hr_fail(error, HR_STATUS_LIMIT,
                       "TIFF: a volume of %d pages; at most %d are supported", s->pages, MAX_PAGES);
    if (has_hidden_pages(&first, s->pages))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: a stack of ImageJ whose slices have no pages of their own is not "
                       "supported; save it with pages, or as NIfTI");
    HR_TRY(read_pages(s, &first, c, error));
    s->is_signed = first.format == HR_TIFF_FORMAT_INT;
    s->inverted = first.photometric == HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO;
    if (s->inverted && (s->is_signed || first.bits > 16 || s->info[0].bits > 16))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: white is 0 in a volume of signed numbers or of more than 16 bits, "
                       "which is not supported");
    if (first.photometric != HR_TIFF_PHOTOMETRIC_PALETTE) /* a palette gives what it holds */
        s->bits = first.bits;
    bool colours = s->channels > 1;
    int64_t extent[4] = {s->pages, first.height, first.width, s->channels};
    out->layout = colours ? "DHWC" : "DHW";
    out->shape.ndim = 3 + colours;
    memcpy(out->shape.extent, extent, sizeof(extent));
    out->dtype = stored_type(s);
    out->state = s;
    return HR_STATUS_OK;
}

/* Levels that fill 8 or 16 bits become the stored ones again. */
static void unfill(const stack *s, void *data, size_t count)
{
    uint32_t most = s->bits > 8 ? UINT16_MAX : UINT8_MAX, top = (1u << s->bits) - 1;
    for (size_t i = 0; i < count && (most != top || s->inverted); i++) {
        uint64_t v = s->bits > 8 ? ((uint16_t *)data)[i] : ((uint8_t *)data)[i];
        v = (v * top + most / 2) / most;
        v = s->inverted ? top - v : v;
        if (s->bits > 8)
            ((uint16_t *)data)[i] = (uint16_t)v;
        else
            ((uint8_t *)data)[i] = (uint8_t)v;
    }
}

/* Signed levels were made fractions of the largest one. */
static void unscale(const stack *s, const float *from, void *dst, size_t count)
{
    float top = (float)((1u << (s->bits - 1)) - 1);
    for (size_t i = 0; i < count; i++) {
        float v = from[i] * top;
        int32_t whole = (int32_t)(v < 0 ? v - 0.5f : v + 0.5f);
        if (s->bits > 8)
            ((int16_t *)dst)[i] = (int16_t)whole;
        else
            ((int8_t *)dst)[i] = (int8_t)whole;
    }
}

static hr_status read_page(const stack *s, const hr_image_info *info, hr_op_call *c, void *dst,
                           hr_error *error)
{
    size_t row = (size_t)info->width * (size_t)s->channels;
    size_t count = row * (size_t)info->height;
    void *to = s->is_signed ? hr_arena_alloc(c->arena, count * sizeof(float), error) : dst;
    if (!to)
        return HR_STATUS_NO_MEMORY;
    const hr_decode_request q = {.window = {.h = info->height, .w = info->width},
                                 .type = HR_IMAGE_TYPE_ANY_DATA,
                                 .dtype = hr_image_own_dtype(info),
                                 .dst = to,
                                 .stride = row * hr_dtype_size(hr_image_own_dtype(info))};
    HR_TRY(hr_image_decode(s->bytes, s->size, info, &q, c, error));
    if (s->is_signed)
        unscale(s, to, dst, count);
    else if (s->bits > 0 && info->bits <= 16)
        unfill(s, dst, count);
    return HR_STATUS_OK;
}

static hr_status read(const hr_volume *v, hr_op_call *c, void *dst, hr_error *error)
{
    const stack *s = v->state;
    size_t page = hr_dtype_size(v->dtype) * (size_t)s->channels * (size_t)s->info->width *
                  (size_t)s->info->height;
    for (int32_t i = 0; i < s->pages; i++) {
        hr_arena_mark mark = hr_arena_save(c->arena);
        hr_status status = read_page(s, &s->info[i], c, (char *)dst + (size_t)i * page, error);
        hr_arena_restore(c->arena, mark);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "page %d", i);
    }
    return HR_STATUS_OK;
}

const hr_volume_format hr_volume_format_tiff = {
    .name = "TIFF",
    .match = hr_tiff_match,
    .open = open,
    .read = read,
};
