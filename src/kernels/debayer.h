/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of images behind a Bayer filter. Every second pixel of a row is green. The colour of the
 * others is the row's own colour; the third one, which the rows above and below have, is called
 * the other colour. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HR_DEBAYER_PAD = 64, /* bytes before and after a plane or a row that kernels may read */
    HR_VNG_REACH = 4     /* pixels of a row of hr_vng before and after the image */
};

typedef enum hr_debayer_kind {
    HR_DEBAYER_KIND_BILINEAR,
    HR_DEBAYER_KIND_EDGE_AWARE,
    HR_DEBAYER_KIND_GRAY,
    HR_DEBAYER_KIND_COUNT
} hr_debayer_kind;

typedef struct hr_debayer_row {
    hr_debayer_kind kind;
    bool wide;                      /* elements are uint16_t, not uint8_t */
    const void *above, *at, *below; /* three rows of the image */
    const void *colour;             /* a mask of elements: all bits where the pixel is not green */
    size_t n;                       /* pixels, at least 3 */
    /* Results of pixels 1 .. n - 2: the planes of the row, or a row of `green` only if the kind is
     * GRAY. */
    void *own, *green, *other;
    int32_t own_weight, other_weight; /* GRAY: of 2^14; green has HR_DEBAYER_GREEN */
} hr_debayer_row;

/* Weights of the colours in gray. */
#define HR_DEBAYER_RED 4899
#define HR_DEBAYER_GREEN 9617
#define HR_DEBAYER_BLUE 1868

/* A row for VNG. Even and odd pixels are apart: pixel 2k + p is element k of s[p]. The other arrays
 * are gradients at these pixels. Elements -2 to n / 2 + 1 exist. */
typedef struct hr_vng_line {
    int16_t *s[2];
    int16_t *down[2], *across[2];        /* along columns and rows */
    int16_t *rising[2], *falling[2];     /* along the diagonals, from neighbours on them */
    int16_t *rising_wide, *falling_wide; /* also from green neighbours, at coloured pixels */
    int16_t *green;                      /* twice the mean of green neighbours, there */
} hr_vng_line;

enum { HR_VNG_LINES = 5, HR_VNG_ARRAYS = 13 };

typedef struct hr_vng {
    size_t n;      /* pixels of a row, even */
    int32_t phase; /* of the row at line[2], the middle: 1 if its first pixel is green */
    hr_vng_line line[HR_VNG_LINES]; /* from top to bottom */
    uint8_t *half[2][3];            /* even and odd pixels of the results */
    uint8_t *own, *green, *other;   /* results */
} hr_vng;
