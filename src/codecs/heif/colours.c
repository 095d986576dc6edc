/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/heif/colours.h"

enum { IDENTITY = 0, BT709 = 1, UNSPECIFIED = 2, FCC = 4, BT470 = 5, BT601 = 6, SMPTE240 = 7 };
enum { YCGCO = 8, BT2020 = 9 };

/* The weights of red and blue in luma. */
static bool weights_of(int32_t matrix, float *red, float *blue)
{
    static const struct {
        int32_t matrix;
        float red, blue;
    } known[] = {{-1, 0.299f, 0.114f},       {UNSPECIFIED, 0.299f, 0.114f},
                 {BT709, 0.2126f, 0.0722f},  {FCC, 0.30f, 0.11f},
                 {BT470, 0.299f, 0.114f},    {BT601, 0.299f, 0.114f},
                 {SMPTE240, 0.212f, 0.087f}, {BT2020, 0.2627f, 0.0593f}};
    for (size_t i = 0; i < HR_COUNT_OF(known); i++) {
        *red = known[i].red;
        *blue = known[i].blue;
        if (known[i].matrix == matrix)
            return true;
    }
    return false;
}

static hr_status set_matrix(hr_heif_pixels *x, int32_t matrix, hr_error *error)
{
    const hr_video_picture *p = x->picture;
    float red, blue;
    bool whole = p->shift_x == 0 && p->shift_y == 0;
    if (p->colors == HR_VIDEO_COLORS_GRAY)
        return HR_STATUS_OK;
    if (matrix == IDENTITY || (matrix < 0 && p->colors == HR_VIDEO_COLORS_GBR)) {
        x->planes_are_colours = true;
        x->plane[0] = 2;
        x->plane[2] = 1;
        return whole ? HR_STATUS_OK
                     : hr_fail(error, HR_STATUS_CORRUPT, "HEIF: subsampled planes of RGB");
    }
    if (matrix == YCGCO) {
        x->of[0][0] = x->of[2][0] = x->of[2][1] = -1;
        x->of[0][1] = x->of[1][0] = 1;
        return HR_STATUS_OK;
    }
    if (!weights_of(matrix, &red, &blue))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: colours with the matrix coefficients %d are not supported", matrix);
    float green = 1 - red - blue;
    x->of[0][1] = 2 * (1 - red);
    x->of[2][0] = 2 * (1 - blue);
    x->of[1][0] = -2 * (1 - blue) * blue / green;
    x->of[1][1] = -2 * (1 - red) * red / green;
    return HR_STATUS_OK;
}

hr_status hr_heif_pixels_init(hr_heif_pixels *x, const hr_video_picture *picture,
                              const hr_heif_colours *colours, uint32_t bits, uint32_t channels,
                              size_t width, hr_arena *arena, hr_error *error)
{
    *x = (hr_heif_pixels){.picture = picture, .bits = bits, .channels = channels};
    const hr_video_signal *signal = &picture->signal;
    bool says = signal->matrix != 0 && signal->matrix != 2, boxed = colours->matrix >= 0;
    bool colourless = picture->colors != HR_VIDEO_COLORS_YUV;
    int32_t matrix = boxed || colourless || !says ? colours->matrix : signal->matrix;
    bool full = boxed ? colours->full_range : signal->full_range;
    float top = (float)((1u << bits) - 1), unit = (float)(1u << (picture->bits - 8));
    float most = (float)((1u << picture->bits) - 1);
    if (picture->bits < 8 || picture->bits > 16 || picture->shift_x > 1 || picture->shift_y > 1)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: pictures of this kind are not supported");
    x->black = full ? 0 : 16 * unit;
    x->luma = top / (full ? most : 219 * unit);
    x->middle = 128 * unit;
    x->chroma = top / (full ? most : 224 * unit);
    for (int i = 0; i < 2; i++)
        if (!(x->chroma_row[i] = hr_arena_alloc(arena, width * sizeof(float), error)))
            return HR_STATUS_NO_MEMORY;
    return set_matrix(x, matrix, error);
}

static int32_t sample(const hr_video_picture *p, int32_t plane, int32_t x, int32_t y)
{
    const uint8_t *row = p->plane[plane] + (int64_t)y * p->stride[plane];
    return p->bits > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

static int32_t clamp(int32_t v, int32_t count)
{
    return v < 0 ? 0 : v >= count ? count - 1 : v;
}

/* Chroma is between its luma samples and is interpolated linearly: three quarters of the near
 * sample and one of the next. */
static void chroma_row(const hr_heif_pixels *p, int32_t plane, int32_t x0, int32_t y, size_t width)
{
    const hr_video_picture *v = p->picture;
    int32_t sx = v->shift_x, sy = v->shift_y;
    int32_t w = (v->width + sx) >> sx, h = (v->height + sy) >> sy;
    int32_t near_y = y >> sy, far_y = sy ? clamp(near_y + (y & 1 ? 1 : -1), h) : near_y;
    for (size_t i = 0; i < width; i++) {
        int32_t x = x0 + (int32_t)i, a = x >> sx, b = sx ? clamp(a + (x & 1 ? 1 : -1), w) : a;
        int32_t up = 3 * sample(v, plane, a, near_y) + sample(v, plane, b, near_y);
        int32_t down = 3 * sample(v, plane, a, far_y) + sample(v, plane, b, far_y);
        p->chroma_row[plane - 1][i] = ((float)(3 * up + down) / 16 - p->middle) * p->chroma;
    }
}

static void store(const hr_heif_pixels *p, void *dst, size_t i, float v)
{
    float top = (float)((1u << p->bits) - 1);
    uint32_t whole = (uint32_t)((v < 0 ? 0 : v > top ? top : v) + 0.5f);
    if (p->bits == 16)
        ((uint16_t *)dst)[i] = (uint16_t)whole;
    else
        ((uint8_t *)dst)[i] = (uint8_t)whole;
}

static float level(const hr_heif_pixels *p, int32_t plane, int32_t x, int32_t y)
{
    return ((float)sample(p->picture, plane, x, y) - p->black) * p->luma;
}

void hr_heif_pixels_put(const hr_heif_pixels *p, int32_t x, int32_t y, size_t width, void *dst)
{
    bool grey = p->picture->colors == HR_VIDEO_COLORS_GRAY;
    uint32_t colours = p->channels < 3 ? 1 : 3;
    for (int32_t plane = 1; plane < 3 && !grey && !p->planes_are_colours; plane++)
        chroma_row(p, plane, x, y, width);
    for (size_t i = 0; i < width; i++) {
        float luma = level(p, 0, x + (int32_t)i, y);
        for (uint32_t k = 0; k < colours; k++) {
            float v = luma;
            if (p->planes_are_colours)
                v = level(p, p->plane[k], x + (int32_t)i, y);
            else if (!grey)
                v += p->of[k][0] * p->chroma_row[0][i] + p->of[k][1] * p->chroma_row[1][i];
            store(p, dst, i * p->channels + k, v);
        }
    }
}

void hr_heif_alpha_put(const hr_heif_pixels *p, int32_t x, int32_t y, size_t width, void *dst)
{
    for (size_t i = 0; i < width; i++)
        store(p, dst, (i + 1) * p->channels - 1, level(p, 0, x + (int32_t)i, y));
}
