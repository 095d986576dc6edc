/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random image programs for the tests of the GPU's code: over tensors of any layout and over coded
 * images, with every kind of step, in the order in which steps fuse. */
#pragma once

#include "unit/program_help.h"

/* Stages every constant anew. */
static inline hr_status staging_constant(hr_staging *s, const void *data, size_t size,
                                         const void **device, hr_error *error)
{
    hr_staged copy;
    HR_TRY(s->alloc(s, size, &copy, error));
    memcpy(copy.host, data, size);
    *device = copy.device;
    return HR_STATUS_OK;
}

static inline int one_in(int n)
{
    return rnd() % (uint32_t)n == 0;
}

static inline hr_dtype any_dtype(void)
{
    return (hr_dtype)(rnd() % HR_DTYPE_COUNT);
}

/* A very high, very wide or tiny image. */
static inline hr_tensor case_extreme(void)
{
    static const int32_t sides[][2] = {{1, 200000}, {200000, 1}, {2, 8000}, {8000, 3},
                                       {1, 8000},   {60000, 1},  {1, 1},    {700, 1}};
    const int32_t *side = sides[rnd() % HR_COUNT_OF(sides)];
    hr_dtype dtype = rnd() % 8 ? HR_DTYPE_UINT8 : HR_DTYPE_FLOAT;
    return image(dtype, side[0], side[1], between(1, 4));
}

/* A random source, usually u8. */
static inline hr_tensor case_source(bool coded)
{
    if (one_in(40))
        return case_extreme();
    if (one_in(6)) /* rows of whole words, as in most pipelines */
        return image(HR_DTYPE_UINT8, between(1, 90), 16 * between(1, 9), between(1, 4));
    static const int32_t channels[] = {1, 2, 3, 3, 3, 4, 5, 9, 64};
    hr_dtype dtype = rnd() % 4 ? HR_DTYPE_UINT8 : any_dtype();
    if (coded || rnd() % 2) {
        int32_t most = one_in(8) ? 700 : 90;
        return image(dtype, between(1, most), between(1, most),
                     channels[rnd() % (most > 90 ? 6 : HR_COUNT_OF(channels))]);
    }
    return random_tensor(dtype);
}

static inline void case_crop(hr_image_program *p, hr_error *error)
{
    int32_t h = (int32_t)hr_program_extent(p, 'H'), w = (int32_t)hr_program_extent(p, 'W');
    hr_window window = {0, 0, between(1, h), between(1, w)};
    window.y = between(0, h - (int32_t)window.h);
    window.x = between(0, w - (int32_t)window.w);
    hr_program_crop(p, window, NULL, 0, error);
}

static inline void case_fill(hr_image_program *p, hr_error *error)
{
    float fill[HR_CHANNELS_MAX];
    int32_t h = (int32_t)hr_program_extent(p, 'H'), w = (int32_t)hr_program_extent(p, 'W');
    int32_t channels = (int32_t)HR_MIN(hr_program_extent(p, 'C'), HR_CHANNELS_MAX);
    for (int c = 0; c < HR_CHANNELS_MAX; c++)
        fill[c] = (float)between(-100, 300) / 3;
    hr_window window = {between(-9, h), between(-9, w), between(1, 60), between(1, 60)};
    int32_t count = one_in(2) ? 1 : channels;
    if (one_in(2))
        hr_program_crop_outer(p, 'D', between(-2, (int32_t)hr_program_extent(p, 'D')),
                              between(0, 6), fill, count, error);
    if (!p->has_fill || one_in(2))
        hr_program_crop(p, window, fill, count, error);
}

static inline void case_resample(hr_image_program *p, hr_error *error)
{
    hr_interp interp = one_in(2) ? HR_INTERP_TRIANGULAR : (hr_interp)(rnd() % HR_INTERP_COUNT);
    hr_resample_axis y = random_axis(hr_program_extent(p, 'H'), interp);
    hr_resample_axis x = random_axis(hr_program_extent(p, 'W'), one_in(4) ? HR_INTERP_NN : interp);
    if (one_in(10))
        x.out = between(200, 600);
    hr_program_resample(p, &y, &x, one_in(5) ? HR_DTYPE_FLOAT : hr_program_dtype(p), error);
}

static inline void case_filter(hr_image_program *p, hr_error *error)
{
    hr_given_taps y[2], x[2];
    for (int i = 0; i < 2; i++) {
        y[i] = random_taps(one_in(8) ? 151 : 15);
        x[i] = one_in(3) ? y[i] : random_taps(one_in(8) ? 151 : 15);
    }
    hr_program_filter(p, y, x, between(1, 2), one_in(4) ? HR_DTYPE_FLOAT : hr_program_dtype(p),
                      error);
}

static inline void case_gather(hr_image_program *p, hr_error *error)
{
    static hr_map maps[MAPS_MAX];
    hr_gather_spec g = random_gather(hr_program_has(p, 'D'));
    for (int i = 0; i < MAPS_MAX; i++)
        maps[i] = random_map();
    hr_program_gather(p, &g, maps, one_in(2) ? 1 : (int32_t)hr_program_extent(p, 'F'),
                      one_in(3) ? HR_DTYPE_FLOAT : hr_program_dtype(p), error);
}

/* Some have results halfway between bytes, or weights that kernels of bytes cannot scale. */
static inline hr_matrix case_matrix(int32_t in)
{
    static const float extremes[] = {1e-30f, 1e-16f, 1e12f, -1e20f, 3e38f, INFINITY, NAN};
    hr_matrix m = random_matrix(in);
    bool halves = one_in(4);
    for (int i = 0; i < HR_MATRIX_MAX && halves; i++) {
        m.add[i] = floorf(m.add[i] * 2) / 2;
        for (int k = 0; k < HR_MATRIX_MAX; k++)
            m.m[i][k] = floorf(m.m[i][k] * 4) / 4;
    }
    if (one_in(6))
        m.m[rnd() % HR_MATRIX_MAX][rnd() % HR_MATRIX_MAX] = extremes[rnd() % 7];
    if (one_in(12))
        m.add[rnd() % HR_MATRIX_MAX] = extremes[rnd() % 7];
    return m;
}

static inline void case_points(hr_image_program *p, hr_error *error)
{
    bool bytes = one_in(2);
    for (int i = between(1, 3); i > 0; i--) {
        hr_point_step step = {.kind = (hr_point_kind)(rnd() % (HR_POINT_KIND_AFFINE + 1)),
                              .dtype = bytes ? HR_DTYPE_UINT8 : any_dtype()};
        step.matrix = case_matrix((int32_t)HR_MIN(hr_program_extent(p, 'C'), HR_MATRIX_MAX));
        step.table = random_table(step.dtype);
        hr_program_point(p, &step, error);
    }
}

static inline void case_normalize(hr_image_program *p, hr_error *error)
{
    static const hr_dtype types[] = {HR_DTYPE_FLOAT16, HR_DTYPE_FLOAT, HR_DTYPE_FLOAT16,
                                     HR_DTYPE_FLOAT,   HR_DTYPE_UINT8, HR_DTYPE_INT8};
    float mean[HR_CHANNELS_MAX], mul[HR_CHANNELS_MAX];
    for (int c = 0; c < HR_CHANNELS_MAX; c++) {
        mean[c] = (float)(unit() * 200);
        mul[c] = (float)(unit() * 3 / (one_in(2) ? 1 : 100));
    }
    int32_t channels = (int32_t)hr_program_extent(p, 'C');
    hr_program_normalize(p, mean, mul, one_in(3) ? 1 : channels, types[rnd() % 6], error);
}

static inline void case_output(hr_image_program *p, hr_error *error)
{
    char layout[HR_MAX_NDIM + 1];
    float fill = (float)between(-20, 20);
    strcpy(layout, p->layout.name);
    for (size_t n = strlen(layout), i = 0; i + 1 < n && one_in(2); i++) {
        size_t j = i + rnd() % (n - i);
        char letter = layout[i];
        layout[i] = layout[j];
        layout[j] = letter;
    }
    if (strlen(layout) == 3 && hr_program_has(p, 'C') && one_in(3))
        strcpy(layout, "CHW");
    int32_t pad = one_in(4) ? (int32_t)hr_program_extent(p, 'C') + between(1, 2) : 0;
    hr_program_output(p, layout, pad, &fill, one_in(2), error);
}

/* Steps without a filter, and columns in fours if there are as many. */
static inline void case_even_steps(hr_image_program *p)
{
    hr_error error;
    int32_t h = (int32_t)hr_program_extent(p, 'H'), w = (int32_t)hr_program_extent(p, 'W');
    if (one_in(2) && w >= 4) {
        hr_window window = {0, 4 * between(0, w / 4 - 1), between(1, h), 0};
        window.w = 4 * between(1, (int32_t)(w - window.x) / 4);
        hr_program_crop(p, window, NULL, 0, &error);
    }
    hr_program_flip(p, one_in(4), one_in(4), false, &error);
    if (one_in(2))
        case_points(p, &error);
    if (one_in(2))
        case_normalize(p, &error);
    if (one_in(4))
        hr_program_output(p, "CHW", 0, NULL, false, &error);
}

/* Adds random steps; those that cannot be added are left out. */
static inline void case_steps(hr_image_program *p)
{
    hr_error error;
    if (one_in(4)) {
        case_even_steps(p);
        return;
    }
    if (one_in(2))
        case_crop(p, &error);
    if (one_in(5))
        case_gather(p, &error);
    if (rnd() % 4)
        case_resample(p, &error);
    else if (one_in(3))
        case_filter(p, &error);
    for (int i = 0; i < p->outer_count; i++) {
        int64_t start = between(0, (int32_t)p->outer[i].count - 1);
        if (one_in(4))
            hr_program_crop_outer(p, p->outer[i].letter, start, p->outer[i].count - start, NULL, 0,
                                  &error);
    }
    if (one_in(3))
        case_crop(p, &error);
    hr_program_flip(p, one_in(2), one_in(4), one_in(4), &error);
    if (one_in(3))
        case_points(p, &error);
    if (one_in(2))
        case_normalize(p, &error);
    if (one_in(4))
        case_fill(p, &error);
    if (one_in(6) && !p->normalize)
        case_points(p, &error);
    if (one_in(2))
        case_output(p, &error);
}
