/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/planes.h"

#include <string.h>

/* A conversion. Rows of chroma are those of the row of pixels in hand. */
typedef struct conversion {
    const hr_kernels *kernels;
    const hr_video_picture *picture;
    const hr_video_form *form;
    bool turned; /* rows are not rows of the frame */
    uint8_t *row;
    int32_t width, height, chroma_width, chroma_height;
    int16_t *line, *rows[2];
    /* Where weights change along the axis: */
    hr_yuv_tap *taps;
    int16_t *across[2][2]; /* of each plane, the rows that were interpolated along the row last */
    int32_t across_row[2][2];
    int32_t *wide[2];
} conversion;

void hr_video_scratch_fini(hr_video_scratch *scratch)
{
    hr_free(scratch->memory);
    *scratch = (hr_video_scratch){0};
}

/* Cuts pieces from memory; only adds them up if there is none. */
typedef struct cutter {
    uint8_t *memory;
    size_t used;
} cutter;

static void *cut(cutter *c, size_t bytes)
{
    void *piece = c->memory ? c->memory + c->used : NULL;
    c->used += (bytes + HR_ALIGN - 1) / HR_ALIGN * HR_ALIGN;
    return piece;
}

/* Wants at most 2^26 pixels in a row. */
static void cut_rows(conversion *c, cutter *pieces, bool wide)
{
    const size_t n = (size_t)c->width + HR_YUV_PAD;
    c->row = c->turned ? cut(pieces, 3 * n) : NULL;
    if (!wide) {
        c->line = cut(pieces, (n + 2) * sizeof(int16_t));
        for (int i = 0; i < 2; i++)
            c->rows[i] = cut(pieces, (n + 2) * sizeof(int16_t));
        return;
    }
    c->taps = cut(pieces, n * sizeof(*c->taps));
    for (int i = 0; i < 2; i++) {
        c->wide[i] = cut(pieces, n * sizeof(int32_t));
        for (int k = 0; k < 2; k++) {
            c->across[i][k] = cut(pieces, n * sizeof(int16_t));
            c->across_row[i][k] = -1;
        }
    }
}

static hr_status make_rows(conversion *c, bool wide, hr_video_scratch *scratch, hr_error *error)
{
    cutter pieces = {0};
    cut_rows(c, &pieces, wide);
    if (pieces.used > scratch->size) {
        hr_video_scratch_fini(scratch);
        if (!(scratch->memory = hr_calloc(1, pieces.used + HR_ALIGN, error)))
            return HR_STATUS_NO_MEMORY;
        scratch->size = pieces.used;
    }
    uintptr_t aligned = ((uintptr_t)scratch->memory + HR_ALIGN - 1) / HR_ALIGN * HR_ALIGN;
    pieces = (cutter){.memory = (uint8_t *)aligned};
    cut_rows(c, &pieces, wide);
    return HR_STATUS_OK;
}

static int32_t clamp(int32_t i, int32_t count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static const void *row_of(const hr_video_picture *p, int32_t plane, int32_t row)
{
    return p->plane[plane] + row * p->stride[plane];
}

static int32_t sample_of(const void *row, int32_t i, int32_t bits)
{
    return bits > 8 ? ((const uint16_t *)row)[i] : ((const uint8_t *)row)[i];
}

/* Where row y is written, before `put_row`. */
static uint8_t *row_at(const conversion *c, uint8_t *dst, int32_t y)
{
    return c->turned ? c->row : dst + 3 * (size_t)y * (size_t)c->width;
}

static void put_row(const conversion *c, uint8_t *dst, int32_t y)
{
    const hr_yuv_place *p = &c->form->place;
    int64_t at = 3 * (p->first + y * p->down);
    for (int32_t x = 0; c->turned && x < c->width; x++, at += 3 * p->across)
        memcpy(dst + at, c->row + 3 * (size_t)x, 3);
}

/* ---- weights that are quarters ---- */

static void chroma_row(const conversion *c, int32_t y)
{
    const hr_video_picture *p = c->picture;
    int32_t near = p->shift_y ? y >> 1 : y;
    int32_t far = p->shift_y ? clamp(near + (y & 1 ? 1 : -1), c->chroma_height) : near;
    for (int32_t i = 0; i < 2; i++) {
        hr_yuv_chroma row = {.near = row_of(p, 1 + i, near),
                             .far = row_of(p, 1 + i, far),
                             .width = (size_t)c->chroma_width,
                             .bits = p->bits,
                             .halved = p->shift_x == 1,
                             .line = c->line};
        c->kernels->yuv_chroma(c->rows[i], &row);
    }
}

static void store_ycbcr(const conversion *c, uint8_t *dst, const void *luma)
{
    const int32_t bits = c->picture->bits, more = bits - 8, zero = 16 << (bits - 1);
    for (int32_t x = 0; x < c->width; x++) {
        dst[3 * x] = hr_yuv_byte((sample_of(luma, x, bits) + (1 << more >> 1)) >> more);
        for (int32_t i = 0; i < 2; i++)
            dst[3 * x + 1 + i] = hr_yuv_byte((c->rows[i][x] + zero + (8 << more)) >> (4 + more));
    }
}

static void by_quarters(const conversion *c, uint8_t *dst)
{
    for (int32_t y = 0; y < c->height; y++) {
        const void *luma = row_of(c->picture, 0, y);
        uint8_t *row = row_at(c, dst, y);
        if (c->picture->colors == HR_VIDEO_COLORS_YUV)
            chroma_row(c, y);
        if (c->form->ycbcr)
            store_ycbcr(c, row, luma);
        else
            c->kernels->yuv_rgb(row, luma, c->rows[0], c->rows[1], (size_t)c->width,
                                &c->form->colors);
        put_row(c, dst, y);
    }
}

/* ---- weights that change ---- */

/* A row of chroma for every pixel along it. Rows are asked for in ascending pairs. */
static const int16_t *across(conversion *c, int32_t plane, int32_t row)
{
    int16_t *dst = c->across[plane][row & 1];
    const void *src = row_of(c->picture, 1 + plane, row);
    const int32_t bits = c->picture->bits;
    if (c->across_row[plane][row & 1] == row)
        return dst;
    for (int32_t x = 0; x < c->width; x++) {
        int32_t first = c->taps[x].first;
        int32_t a = sample_of(src, clamp(first, c->chroma_width), bits);
        int32_t b = sample_of(src, clamp(first + 1, c->chroma_width), bits);
        dst[x] = (int16_t)hr_yuv_across(a, b, c->taps[x], bits);
    }
    c->across_row[plane][row & 1] = row;
    return dst;
}

static void wide_row(conversion *c, int32_t y)
{
    const hr_yuv_tap tap = hr_yuv_tap_of(y, c->chroma_height, c->height, HR_YUV_ONE_Y);
    for (int32_t i = 0; i < 2; i++) {
        const int16_t *a = across(c, i, clamp(tap.first, c->chroma_height));
        const int16_t *b = across(c, i, clamp(tap.first + 1, c->chroma_height));
        int32_t *dst = c->wide[i];
        for (int32_t x = 0; x < c->width; x++)
            dst[x] = hr_yuv_down(a[x], b[x], tap);
    }
}

static void store_ycbcr_wide(const conversion *c, uint8_t *dst, const void *luma)
{
    const int32_t bits = c->picture->bits, more = bits - 8;
    for (int32_t x = 0; x < c->width; x++) {
        dst[3 * x] = hr_yuv_byte((sample_of(luma, x, bits) + (1 << more >> 1)) >> more);
        for (int32_t i = 0; i < 2; i++)
            dst[3 * x + 1 + i] = hr_yuv_byte((c->wide[i][x] + 65536 + 256) >> 9);
    }
}

static void by_taps(conversion *c, uint8_t *dst)
{
    for (int32_t x = 0; x < c->width; x++)
        c->taps[x] = hr_yuv_tap_of(x, c->chroma_width, c->width, HR_YUV_ONE_X);
    for (int32_t y = 0; y < c->height; y++) {
        const void *luma = row_of(c->picture, 0, y);
        uint8_t *row = row_at(c, dst, y);
        wide_row(c, y);
        if (c->form->ycbcr)
            store_ycbcr_wide(c, row, luma);
        else
            c->kernels->yuv_rgb_wide(row, luma, c->wide[0], c->wide[1], (size_t)c->width,
                                     &c->form->colors);
        put_row(c, dst, y);
    }
}

/* ---- pictures ---- */

static void from_gbr(const hr_video_picture *p, const hr_yuv_place *place, uint8_t *dst)
{
    for (int32_t y = 0; y < p->height; y++)
        for (int32_t x = 0; x < p->width; x++)
            for (int32_t i = 0; i < 3; i++)
                dst[3 * (place->first + y * place->down + x * place->across) + i] =
                    (uint8_t)(sample_of(row_of(p, (i + 2) % 3, y), x, p->bits) >> (p->bits - 8));
}

/* Whether the chroma of an axis is whole or exactly halved. */
static bool is_quarters(int32_t shift, int32_t size)
{
    return shift == 0 || (shift == 1 && size % 2 == 0);
}

hr_status hr_video_pixels(const hr_kernels *kernels, const hr_video_picture *p,
                          const hr_video_form *form, uint8_t *dst, hr_video_scratch *scratch,
                          hr_error *error)
{
    conversion c = {.kernels = kernels,
                    .picture = p,
                    .form = form,
                    .turned = form->place.first != 0 || form->place.across != 1,
                    .width = p->width,
                    .height = p->height,
                    .chroma_width = (p->width + (1 << p->shift_x) - 1) >> p->shift_x,
                    .chroma_height = (p->height + (1 << p->shift_y) - 1) >> p->shift_y};
    bool wide = !is_quarters(p->shift_x, p->width) || !is_quarters(p->shift_y, p->height);
    if (p->bits > 12 || (form->ycbcr && p->colors == HR_VIDEO_COLORS_GBR))
        return hr_fail(error, HR_STATUS_ERROR, "pictures of %d bits%s are not supported", p->bits,
                       p->colors == HR_VIDEO_COLORS_GBR ? ", stored as RGB," : "");
    if (p->colors == HR_VIDEO_COLORS_GBR) {
        from_gbr(p, &form->place, dst);
        return HR_STATUS_OK;
    }
    HR_TRY(make_rows(&c, wide, scratch, error));
    if (p->colors == HR_VIDEO_COLORS_GRAY)
        for (int i = 0; i < 2; i++)
            memset(c.rows[i], 0, ((size_t)c.width + HR_YUV_PAD) * sizeof(int16_t));
    if (wide)
        by_taps(&c, dst);
    else
        by_quarters(&c, dst);
    return HR_STATUS_OK;
}
