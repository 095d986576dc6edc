/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Hue and saturation in Pillow's steps: through HSV with 8 bits each, and away from 8-bit grey.
 * Pixels are processed as planes of a block, so that the loops are vectorised. */
#include "headrace/operator.h"
#include "kernels/level.h"

enum { BLOCK = 128 };

typedef struct planes {
    int32_t r[BLOCK], g[BLOCK], b[BLOCK];
} planes;

static void load(planes *p, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->r[i] = src[3 * i];
        p->g[i] = src[3 * i + 1];
        p->b[i] = src[3 * i + 2];
    }
}

static void store(uint8_t *dst, const planes *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[3 * i] = (uint8_t)p->r[i];
        dst[3 * i + 1] = (uint8_t)p->g[i];
        dst[3 * i + 2] = (uint8_t)p->b[i];
    }
}

/* Hue and saturation in 255ths. The hue of grey is arbitrary. */
static void to_hsv(const planes *restrict p, int32_t *restrict hue, float *restrict saturation,
                   int32_t *restrict value)
{
    for (int32_t i = 0; i < BLOCK; i++) {
        int32_t r = p->r[i], g = p->g[i], b = p->b[i];
        int32_t most = HR_MAX(r, HR_MAX(g, b)), least = HR_MIN(r, HR_MIN(g, b));
        float range = (float)HR_MAX(most - least, 1);
        int32_t plus = r == most ? b : g == most ? r : g, minus = r == most ? g : g == most ? b : r;
        double sixth = r == most ? 0.0 : g == most ? 2.0 : 4.0;
        float up = (float)(most - plus) / range, down = (float)(most - minus) / range;
        double turn = (double)(float)(sixth + (double)up - (double)down) / 6.0 + 1.0;
        turn -= turn >= 1.0 ? 1.0 : 0.0;
        hue[i] = (int32_t)((float)turn * 255.0f);
        saturation[i] = (float)(int32_t)((float)(most - least) / (float)HR_MAX(most, 1) * 255.0f);
        value[i] = most;
    }
}

static void to_rgb(planes *restrict p, const int32_t *restrict hue,
                   const float *restrict saturation, const int32_t *restrict value)
{
    for (int32_t i = 0; i < BLOCK; i++) {
        int32_t sixth = hue[i] * 6 / 255, v = value[i];
        float part = (float)(hue[i] * 6 - sixth * 255) / 255.0f, s = saturation[i] / 255.0f;
        int32_t low = (int32_t)((float)v * (1.0f - s) + 0.5f);
        int32_t falling = (int32_t)((float)v * (1.0f - s * part) + 0.5f);
        int32_t rising = (int32_t)((float)v * (1.0f - s * (1.0f - part)) + 0.5f);
        sixth = sixth == 6 ? 0 : sixth;
        int32_t r = sixth == 1 ? falling : sixth == 4 ? rising : low;
        int32_t g = sixth == 0 ? rising : sixth == 3 ? falling : low;
        int32_t b = sixth == 2 ? rising : sixth == 5 ? falling : low;
        p->r[i] = sixth == 0 || sixth == 5 ? v : r;
        p->g[i] = sixth == 1 || sixth == 2 ? v : g;
        p->b[i] = sixth == 3 || sixth == 4 ? v : b;
    }
}

void HR_LEVELED(hr__turn_hue)(uint8_t *pixels, size_t n, int32_t turn)
{
    planes p = {{0}, {0}, {0}};
    int32_t hue[BLOCK], value[BLOCK];
    float saturation[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = HR_MIN(n - at, (size_t)BLOCK);
        load(&p, pixels + 3 * at, count);
        to_hsv(&p, hue, saturation, value);
        for (int32_t i = 0; i < BLOCK; i++)
            hue[i] = (hue[i] + turn) & 255;
        to_rgb(&p, hue, saturation, value);
        store(pixels + 3 * at, &p, count);
    }
}

static int32_t away(int32_t grey, int32_t v, float factor)
{
    float to = (float)grey + factor * (float)(v - grey);
    to = to > 0.0f ? to : 0.0f;
    return (int32_t)(to < 255.0f ? to : 255.0f);
}

void HR_LEVELED(hr__saturate)(uint8_t *pixels, size_t n, float factor)
{
    planes p = {{0}, {0}, {0}};

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = HR_MIN(n - at, (size_t)BLOCK);
        load(&p, pixels + 3 * at, count);
        for (int32_t i = 0; i < BLOCK; i++) {
            int32_t grey = (p.r[i] * 19595 + p.g[i] * 38470 + p.b[i] * 7471 + 32768) >> 16;
            p.r[i] = away(grey, p.r[i], factor);
            p.g[i] = away(grey, p.g[i], factor);
            p.b[i] = away(grey, p.b[i], factor);
        }
        store(pixels + 3 * at, &p, count);
    }
}
