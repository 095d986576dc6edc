/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Colours behind a Bayer filter from a variable number of gradients (Chang, Cheung and Pang, 1999):
 * of the eight directions, those with gradients below a threshold count. Even and odd pixels are in
 * arrays of their own, because green and coloured pixels take turns. */
#include "kernels/debayer.h"
#include "kernels/level.h"

/* The neighbours of pixel k of phase p in an array per phase. */
#define BEFORE(arrays, p) ((arrays)[1 - (p)] + (p)-1)
#define AFTER(arrays, p) ((arrays)[1 - (p)] + (p))

#define DISTANCE(a, b) ((int16_t)(most(a, b) - least(a, b)))

static inline int16_t least(int16_t a, int16_t b)
{
    return a < b ? a : b;
}

static inline int16_t most(int16_t a, int16_t b)
{
    return a > b ? a : b;
}

/* The neighbours of the pixels of one phase. */
typedef struct square {
    const int16_t *nw, *n, *ne, *w, *e, *sw, *s, *se;
} square;

static square square_of(const hr_vng_line *mid, const hr_vng_line *top, const hr_vng_line *low,
                        int p)
{
    return (square){BEFORE(top->s, p), top->s[p],         AFTER(top->s, p), BEFORE(mid->s, p),
                    AFTER(mid->s, p),  BEFORE(low->s, p), low->s[p],        AFTER(low->s, p)};
}

/* Gradients of all pixels of one phase. */
static void simple_gradients(square q, ptrdiff_t count, int16_t *restrict down,
                             int16_t *restrict across, int16_t *restrict rising,
                             int16_t *restrict falling)
{
    for (ptrdiff_t k = -1; k <= count; k++) {
        int16_t nw = q.nw[k], ne = q.ne[k], sw = q.sw[k], se = q.se[k];
        int16_t middle = DISTANCE(q.n[k], q.s[k]), beside = DISTANCE(q.w[k], q.e[k]);
        down[k] = (int16_t)(DISTANCE(nw, sw) + 2 * middle + DISTANCE(ne, se));
        across[k] = (int16_t)(DISTANCE(nw, ne) + 2 * beside + DISTANCE(sw, se));
        rising[k] = (int16_t)(2 * DISTANCE(ne, sw));
        falling[k] = (int16_t)(2 * DISTANCE(nw, se));
    }
}

/* The other gradients, of coloured pixels only. */
static void wide_gradients(square q, ptrdiff_t count, int16_t *restrict rising,
                           int16_t *restrict falling, int16_t *restrict green)
{
    for (ptrdiff_t k = -1; k <= count; k++) {
        int16_t n = q.n[k], s = q.s[k], w = q.w[k], e = q.e[k];
        rising[k] = (int16_t)(2 * DISTANCE(q.ne[k], q.sw[k]) + DISTANCE(n, w) + DISTANCE(s, e));
        falling[k] = (int16_t)(2 * DISTANCE(q.nw[k], q.se[k]) + DISTANCE(n, e) + DISTANCE(s, w));
        green[k] = (int16_t)((n + w + e + s) >> 1);
    }
}

/* The next direction: `same` and x, y are twice its estimates of the pixel's colour and of the two
 * others. */
#define TAKE(gradient, same, x, y)                                                                 \
    do {                                                                                           \
        int16_t taken = (int16_t) - (int16_t)((gradient) < limit);                                 \
        number = (int16_t)(number - taken);                                                        \
        sum = (int16_t)(sum + (taken & (int16_t)(same)));                                          \
        sum_x = (int16_t)(sum_x + (taken & (int16_t)(x)));                                         \
        sum_y = (int16_t)(sum_y + (taken & (int16_t)(y)));                                         \
    } while (0)

static inline int16_t threshold(int16_t n, int16_t ne, int16_t e, int16_t se, int16_t s, int16_t sw,
                                int16_t w, int16_t nw)
{
    int16_t low = least(least(least(n, ne), least(e, se)), least(least(s, sw), least(w, nw)));
    int16_t high = most(most(most(n, ne), most(e, se)), most(most(s, sw), most(w, nw)));
    return (int16_t)(low + most((int16_t)(high >> 1), 1));
}

/* v + the mean of `number` differences, of which `twice` is twice the sum; ties to even. */
static inline uint8_t corrected(int16_t v, int16_t twice, int16_t number)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: no fractions are left next to it */
    float mean = (float)twice * (0.5f / (float)number);
    int16_t result = (int16_t)(v + (int16_t)(int32_t)((mean + magic) - magic));
    return (uint8_t)least(most(result, 0), 255);
}

/* Pixels that are not green; they have phase p. */
static void coloured_pixels(const hr_vng_line *line, int p, ptrdiff_t count, uint8_t *restrict own,
                            uint8_t *restrict green, uint8_t *restrict other)
{
    const hr_vng_line *a = &line[1], *m = &line[2], *b = &line[3];
    const int16_t *c = m->s[p], *above = line[0].s[p], *below = line[4].s[p];
    const int16_t *nw = BEFORE(a->s, p), *n = a->s[p], *ne = AFTER(a->s, p);
    const int16_t *sw = BEFORE(b->s, p), *s = b->s[p], *se = AFTER(b->s, p);
    const int16_t *w = BEFORE(m->s, p), *e = AFTER(m->s, p);
    const int16_t *down_a = a->down[p], *down = m->down[p], *down_b = b->down[p];
    const int16_t *across_w = BEFORE(m->across, p), *across = m->across[p];
    const int16_t *across_e = AFTER(m->across, p);
    const int16_t *rising = m->rising_wide, *falling = m->falling_wide;
    const int16_t *rising_ne = a->rising_wide + p, *rising_sw = b->rising_wide + p - 1;
    const int16_t *falling_nw = a->falling_wide + p - 1, *falling_se = b->falling_wide + p;
    const int16_t *green_nw = a->green + p - 1, *green_ne = a->green + p;
    const int16_t *green_sw = b->green + p - 1, *green_se = b->green + p;

    for (ptrdiff_t k = 0; k < count; k++) {
        int16_t to_n = (int16_t)(down_a[k] + down[k]), to_s = (int16_t)(down[k] + down_b[k]);
        int16_t to_w = (int16_t)(across_w[k] + across[k]);
        int16_t to_e = (int16_t)(across[k] + across_e[k]);
        int16_t to_ne = (int16_t)(rising_ne[k] + rising[k]);
        int16_t to_sw = (int16_t)(rising[k] + rising_sw[k]);
        int16_t to_nw = (int16_t)(falling_nw[k] + falling[k]);
        int16_t to_se = (int16_t)(falling[k] + falling_se[k]);
        int16_t limit = threshold(to_n, to_ne, to_e, to_se, to_s, to_sw, to_w, to_nw);
        int16_t number = 0, sum = 0, sum_x = 0, sum_y = 0, v = c[k];
        TAKE(to_n, above[k] + v, 2 * n[k], nw[k] + ne[k]);
        TAKE(to_ne, above[k + 1] + v, green_ne[k], 2 * ne[k]);
        TAKE(to_e, c[k + 1] + v, 2 * e[k], ne[k] + se[k]);
        TAKE(to_se, below[k + 1] + v, green_se[k], 2 * se[k]);
        TAKE(to_s, below[k] + v, 2 * s[k], sw[k] + se[k]);
        TAKE(to_sw, below[k - 1] + v, green_sw[k], 2 * sw[k]);
        TAKE(to_w, c[k - 1] + v, 2 * w[k], nw[k] + sw[k]);
        TAKE(to_nw, above[k - 1] + v, green_nw[k], 2 * nw[k]);
        own[k] = (uint8_t)v;
        green[k] = corrected(v, (int16_t)(sum_x - sum), number);
        other[k] = corrected(v, (int16_t)(sum_y - sum), number);
    }
}

/* Green pixels; they have phase p. */
static void green_pixels(const hr_vng_line *line, int p, ptrdiff_t count, uint8_t *restrict own,
                         uint8_t *restrict green, uint8_t *restrict other)
{
    const hr_vng_line *a = &line[1], *m = &line[2], *b = &line[3];
    const int16_t *c = m->s[p], *above = line[0].s[p], *below = line[4].s[p];
    const int16_t *above_w = BEFORE(line[0].s, p), *above_e = AFTER(line[0].s, p);
    const int16_t *below_w = BEFORE(line[4].s, p), *below_e = AFTER(line[4].s, p);
    const int16_t *nw = BEFORE(a->s, p), *n = a->s[p], *ne = AFTER(a->s, p);
    const int16_t *sw = BEFORE(b->s, p), *s = b->s[p], *se = AFTER(b->s, p);
    const int16_t *w = BEFORE(m->s, p), *e = AFTER(m->s, p);
    const int16_t *down_a = a->down[p], *down = m->down[p], *down_b = b->down[p];
    const int16_t *across_w = BEFORE(m->across, p), *across = m->across[p];
    const int16_t *across_e = AFTER(m->across, p);
    const int16_t *rising_n = a->rising[p], *rising_ne = AFTER(a->rising, p);
    const int16_t *rising = m->rising[p], *rising_e = AFTER(m->rising, p);
    const int16_t *rising_w = BEFORE(m->rising, p), *rising_s = b->rising[p];
    const int16_t *rising_sw = BEFORE(b->rising, p);
    const int16_t *falling_n = a->falling[p], *falling_nw = BEFORE(a->falling, p);
    const int16_t *falling = m->falling[p], *falling_w = BEFORE(m->falling, p);
    const int16_t *falling_e = AFTER(m->falling, p), *falling_s = b->falling[p];
    const int16_t *falling_se = AFTER(b->falling, p);

    for (ptrdiff_t k = 0; k < count; k++) {
        int16_t to_n = (int16_t)(down_a[k] + down[k]), to_s = (int16_t)(down[k] + down_b[k]);
        int16_t to_w = (int16_t)(across_w[k] + across[k]);
        int16_t to_e = (int16_t)(across[k] + across_e[k]);
        int16_t to_ne = (int16_t)(rising_n[k] + rising_ne[k] + rising[k] + rising_e[k]);
        int16_t to_sw = (int16_t)(rising[k] + rising_w[k] + rising_s[k] + rising_sw[k]);
        int16_t to_nw = (int16_t)(falling_n[k] + falling_nw[k] + falling[k] + falling_w[k]);
        int16_t to_se = (int16_t)(falling[k] + falling_e[k] + falling_s[k] + falling_se[k]);
        int16_t limit = threshold(to_n, to_ne, to_e, to_se, to_s, to_sw, to_w, to_nw);
        int16_t number = 0, sum = 0, sum_x = 0, sum_y = 0, v = c[k];
        TAKE(to_n, above[k] + v, above_w[k] + above_e[k], 2 * n[k]);
        TAKE(to_ne, 2 * ne[k], above_e[k] + e[k], n[k] + n[k + 1]);
        TAKE(to_e, c[k + 1] + v, 2 * e[k], n[k + 1] + s[k + 1]);
        TAKE(to_se, 2 * se[k], below_e[k] + e[k], s[k] + s[k + 1]);
        TAKE(to_s, below[k] + v, below_w[k] + below_e[k], 2 * s[k]);
        TAKE(to_sw, 2 * sw[k], below_w[k] + w[k], s[k] + s[k - 1]);
        TAKE(to_w, c[k - 1] + v, 2 * w[k], n[k - 1] + s[k - 1]);
        TAKE(to_nw, 2 * nw[k], above_w[k] + w[k], n[k] + n[k - 1]);
        green[k] = (uint8_t)v;
        own[k] = corrected(v, (int16_t)(sum_x - sum), number);
        other[k] = corrected(v, (int16_t)(sum_y - sum), number);
    }
}

static void merge(uint8_t *restrict dst, const uint8_t *restrict even, const uint8_t *restrict odd,
                  size_t count)
{
    for (size_t k = 0; k < count; k++) {
        dst[2 * k] = even[k];
        dst[2 * k + 1] = odd[k];
    }
}

static void split(int16_t *restrict even, int16_t *restrict odd, const uint8_t *restrict src,
                  size_t count)
{
    for (size_t k = 0; k < count; k++) {
        even[k] = src[2 * k];
        odd[k] = src[2 * k + 1];
    }
}

void HR_LEVELED(hr__vng_load)(const hr_vng_line *line, const uint8_t *src, size_t n)
{
    split(line->s[0] - HR_VNG_REACH / 2, line->s[1] - HR_VNG_REACH / 2, src, n / 2 + HR_VNG_REACH);
}

void HR_LEVELED(hr__vng_row)(const hr_vng *v)
{
    const hr_vng_line *line = v->line, *low = &line[3];
    ptrdiff_t count = (ptrdiff_t)(v->n / 2);
    int p = v->phase;

    /* the row below the middle has the opposite phase */
    for (int phase = 0; phase < 2; phase++)
        simple_gradients(square_of(low, &line[2], &line[4], phase), count, low->down[phase],
                         low->across[phase], low->rising[phase], low->falling[phase]);
    wide_gradients(square_of(low, &line[2], &line[4], 1 - p), count, low->rising_wide,
                   low->falling_wide, low->green);
    if (v->own == NULL)
        return;
    coloured_pixels(line, p, count, v->half[p][0], v->half[p][1], v->half[p][2]);
    green_pixels(line, 1 - p, count, v->half[1 - p][0], v->half[1 - p][1], v->half[1 - p][2]);
    merge(v->own, v->half[0][0], v->half[1][0], v->n / 2);
    merge(v->green, v->half[0][1], v->half[1][1], v->n / 2);
    merge(v->other, v->half[0][2], v->half[1][2], v->n / 2);
}
