/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Colours as Pillow's ImageEnhance and ImageOps change them. Most operations are a table per
 * channel. */
#include "ops/torchvision/augment.h"
#include "kernels/kernels.h"

#include <string.h>

typedef struct tables {
    uint8_t v[3][256];
} tables;

/* Between a (0) and b (1), or beyond; truncated. */
static uint8_t blend(int32_t a, int32_t b, float factor)
{
    float v = (float)a + factor * (float)(b - a);
    return (uint8_t)(v > 0.0f ? HR_MIN(v, 255.0f) : 0.0f);
}

static int32_t luma(const uint8_t *pixel)
{
    return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 32768) >> 16;
}

static void apply_tables(hr_image *p, const tables *t)
{
    int64_t n = p->h * p->w * p->c;
    uint8_t *data = p->data;

    if (p->c == 1)
        for (int64_t i = 0; i < n; i++)
            data[i] = t->v[0][data[i]];
    else
        for (int64_t i = 0; i < n; i += 3) {
            data[i] = t->v[0][data[i]];
            data[i + 1] = t->v[1][data[i + 1]];
            data[i + 2] = t->v[2][data[i + 2]];
        }
}

static void apply_table(hr_image *p, const uint8_t *table)
{
    uint8_t *restrict data = p->data;

    for (int64_t i = 0, n = p->h * p->w * p->c; i < n; i++)
        data[i] = table[data[i]];
}

static void histograms(const hr_image *p, int64_t count[3][256])
{
    memset(count, 0, sizeof(int64_t[3][256]));
    for (int64_t i = 0, n = p->h * p->w * p->c; i < n; i += p->c)
        for (int32_t c = 0; c < p->c; c++)
            count[c][p->data[i + c]]++;
}

/* ---- a table for all channels ---- */

static hr_status invert(hr_image *p, const double *param, hr_error *error)
{
    (void)param;
    (void)error;
    for (int64_t i = 0, n = p->h * p->w * p->c; i < n; i++)
        p->data[i] = (uint8_t)(255 - p->data[i]);
    return HR_STATUS_OK;
}

/* Bits that are kept. */
static hr_status posterize(hr_image *p, const double *param, hr_error *error)
{
    int32_t bits = (int32_t)hr__between(param[0], 0.0, 8.0);
    uint8_t mask = (uint8_t)(0xff << (8 - bits));

    (void)error;
    for (int64_t i = 0, n = p->h * p->w * p->c; i < n; i++)
        p->data[i] &= mask;
    return HR_STATUS_OK;
}

/* Threshold from which levels are inverted. */
static hr_status solarize(hr_image *p, const double *param, hr_error *error)
{
    uint8_t table[256];

    (void)error;
    for (int32_t i = 0; i < 256; i++)
        table[i] = (uint8_t)((double)i < param[0] ? i : 255 - i);
    apply_table(p, table);
    return HR_STATUS_OK;
}

/* What is added to levels below a threshold, which is the second number. */
static hr_status solarize_add(hr_image *p, const double *param, hr_error *error)
{
    int32_t add = (int32_t)hr__between(param[0], 0.0, 255.0);
    uint8_t table[256];

    (void)error;
    for (int32_t i = 0; i < 256; i++)
        table[i] = (uint8_t)((double)i < param[1] ? HR_MIN(i + add, 255) : i);
    apply_table(p, table);
    return HR_STATUS_OK;
}

static void towards(hr_image *p, int32_t level, double factor)
{
    uint8_t table[256];

    for (int32_t i = 0; i < 256; i++)
        table[i] = blend(level, i, (float)factor);
    apply_table(p, table);
}

static hr_status brightness(hr_image *p, const double *param, hr_error *error)
{
    (void)error;
    towards(p, 0, param[0]);
    return HR_STATUS_OK;
}

/* Away from the mean of the grey image. */
static hr_status contrast(hr_image *p, const double *param, hr_error *error)
{
    int64_t pixels = p->h * p->w, sum = 0;

    (void)error;
    for (int64_t i = 0; i < pixels; i++)
        sum += p->c == 3 ? luma(p->data + 3 * i) : p->data[i];
    towards(p, (int32_t)((double)sum / (double)pixels + 0.5), param[0]);
    return HR_STATUS_OK;
}

/* ---- a table per channel ---- */

static void stretch_table(uint8_t *table, const int64_t *count)
{
    int32_t low = 0, high = 255;

    while (low < 255 && count[low] == 0)
        low++;
    while (high > 0 && count[high] == 0)
        high--;
    double scale = high > low ? 255.0 / (double)(high - low) : 1.0;
    double offset = high > low ? -(double)low * scale : 0.0;
    for (int32_t i = 0; i < 256; i++)
        table[i] = (uint8_t)hr__between((double)i * scale + offset, 0.0, 255.0);
}

static void equalize_table(uint8_t *table, const int64_t *count)
{
    int64_t total = 0, last = 0;

    for (int32_t i = 0; i < 256; i++) {
        total += count[i];
        last = count[i] > 0 ? count[i] : last;
    }
    int64_t step = (total - last) / 255, n = step / 2;
    for (int32_t i = 0; i < 256; i++) {
        table[i] = (uint8_t)(step > 0 ? HR_MIN(n / step, 255) : i);
        n += count[i];
    }
}

static void by_histogram(hr_image *p, void (*make)(uint8_t *table, const int64_t *count))
{
    int64_t count[3][256];
    tables t;

    histograms(p, count);
    for (int32_t c = 0; c < 3; c++)
        make(t.v[c], count[c]);
    apply_tables(p, &t);
}

static hr_status autocontrast(hr_image *p, const double *param, hr_error *error)
{
    (void)param;
    (void)error;
    by_histogram(p, stretch_table);
    return HR_STATUS_OK;
}

static hr_status equalize(hr_image *p, const double *param, hr_error *error)
{
    (void)param;
    (void)error;
    by_histogram(p, equalize_table);
    return HR_STATUS_OK;
}

/* ---- pixel by pixel ---- */

/* Channels of the result: 1 or 3. */
static hr_status gray(hr_image *p, const double *param, hr_error *error)
{
    int32_t from = p->c, to = param[0] == 1.0 ? 1 : 3;
    int64_t pixels = p->h * p->w;

    if (p->data && from == 3)
        for (int64_t i = 0; i < pixels; i++)
            p->data[i] = (uint8_t)luma(p->data + 3 * i);
    if (p->data && to == 3) {
        const uint8_t *grey = p->data;
        uint8_t *to_pixel = p->spare;
        if (from == 1) {
            HR_TRY(hr__image_resize(p, p->h, p->w, 3, error));
            to_pixel = p->spare;
        }
        for (int64_t i = 0; i < pixels; i++, to_pixel += 3)
            to_pixel[0] = to_pixel[1] = to_pixel[2] = grey[i];
        hr__image_swap(p);
    }
    return hr__image_resize(p, p->h, p->w, to, error);
}

static hr_status saturation(hr_image *p, const double *param, hr_error *error)
{
    (void)error;
    if (p->c == 3)
        p->call->kernels->saturate(p->data, (size_t)(p->h * p->w), (float)param[0]);
    return HR_STATUS_OK;
}

/* Turns by a part of the circle, through Pillow's 8-bit HSV. */
static hr_status hue(hr_image *p, const double *param, hr_error *error)
{
    int32_t turn = (int32_t)(hr__between(param[0], -1.0, 1.0) * 255.0);

    (void)error;
    if (p->c == 3)
        p->call->kernels->turn_hue(p->data, (size_t)(p->h * p->w), turn);
    return HR_STATUS_OK;
}

/* Away from a smoothed image, whose edges are those of the image. */
static hr_status sharpness(hr_image *p, const double *param, hr_error *error)
{
    int64_t row = p->w * p->c, c = p->c;
    float factor = (float)param[0];

    (void)error;
    if (p->h < 3 || p->w < 3)
        return HR_STATUS_OK;
    memcpy(p->spare, p->data, (size_t)(p->h * row));
    for (int64_t y = 1; y < p->h - 1; y++) {
        const uint8_t *restrict in = p->data + y * row;
        const uint8_t *restrict above = in - row, *restrict below = in + row;
        uint8_t *restrict out = p->spare + y * row;
        for (int64_t x = c; x < row - c; x++) {
            int32_t sum = above[x - c] + above[x] + above[x + c] + in[x - c] + 5 * in[x] +
                          in[x + c] + below[x - c] + below[x] + below[x + c];
            out[x] = blend((2 * sum + 13) / 26, in[x], factor);
        }
    }
    hr__image_swap(p);
    return HR_STATUS_OK;
}

const hr_augment_op hr__augment_colours[] = {
    {"invert", 0, false, false, invert},
    {"posterize", 1, false, false, posterize},
    {"solarize", 1, false, false, solarize},
    {"solarize_add", 2, false, false, solarize_add},
    {"brightness", 1, false, false, brightness},
    {"contrast", 1, false, false, contrast},
    {"saturation", 1, false, false, saturation},
    {"hue", 1, false, false, hue},
    {"sharpness", 1, false, false, sharpness},
    {"autocontrast", 0, false, false, autocontrast},
    {"equalize", 0, false, false, equalize},
    {"gray", 1, true, false, gray},
    {NULL, 0, false, false, NULL},
};
