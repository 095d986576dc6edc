/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The image program against plain references (double precision, one element at a time).
 * program_fused.c tests chains of steps. */
#include "unit/program_help.h"

/* ---- resampling against double precision ---- */

static double curve(hr_interp interp, double t)
{
    double a = fabs(t);
    if (interp == HR_INTERP_CUBIC)
        return a < 1   ? 1.5 * a * a * a - 2.5 * a * a + 1
               : a < 2 ? -0.5 * a * a * a + 2.5 * a * a - 4 * a + 2
                       : 0;
    if (interp == HR_INTERP_LANCZOS3)
        return a >= 3     ? 0
               : a < 1e-9 ? 1
                          : 3 * sin(M_PI * a) * sin(M_PI * a / 3) / (M_PI * M_PI * a * a);
    if (interp == HR_INTERP_GAUSSIAN)
        return a <= 1 ? exp(-4 * a * a) : 0;
    return a < 1 ? 1 - a : 0;
}

/* The curve as DALI computes it: a table of 32 entries per unit, interpolated. */
static double tabled(hr_interp interp, double t)
{
    if (interp == HR_INTERP_LINEAR || interp == HR_INTERP_TRIANGULAR)
        return curve(interp, t);
    double i = floor(t * 32), d = t * 32 - i;
    return curve(interp, i / 32) * (1 - d) + curve(interp, (i + 1) / 32) * d;
}

/* One output element along one axis: in[k * step]. */
static double resample_one(const double *in, int64_t n, size_t step, const hr_resample_axis *axis,
                           int32_t o)
{
    double scale = (axis->hi - axis->lo) / axis->out, sum = 0, weights = 0;
    if (axis->interp == HR_INTERP_NN) {
        double at = floor(axis->lo + (o + 0.5) * scale);
        return in[(size_t)fmin(fmax(at, 0), (double)n - 1) * step];
    }
    double stretch = axis->antialias ? fmax(1, fabs(scale)) : 1;
    double reach = axis->interp == HR_INTERP_CUBIC ? 2 : axis->interp == HR_INTERP_LANCZOS3 ? 3 : 1;
    double centre = axis->lo + (o + 0.5) * scale - 0.5;
    for (double k = ceil(centre - reach * stretch); k <= centre + reach * stretch; k++) {
        double weight = tabled(axis->interp, (k - centre) / stretch);
        sum += weight * in[(size_t)fmin(fmax(k, 0), (double)n - 1) * step];
        weights += weight;
    }
    return sum / weights;
}

/* HWC, vertical then horizontal. */
static double *resample_reference(const hr_tensor *t, const hr_resample_axis *y,
                                  const hr_resample_axis *x)
{
    size_t h = (size_t)t->shape.extent[0], w = (size_t)t->shape.extent[1];
    size_t c = (size_t)t->shape.extent[2], row = w * c;
    double *in = malloc(h * row * sizeof(double));
    double *middle = malloc((size_t)y->out * row * sizeof(double));
    double *out = malloc((size_t)y->out * (size_t)x->out * c * sizeof(double));
    for (size_t i = 0; i < h * row; i++)
        in[i] = value_at(t, i);
    for (int32_t o = 0; o < y->out; o++)
        for (size_t i = 0; i < row; i++)
            middle[(size_t)o * row + i] = resample_one(in + i, (int64_t)h, row, y, o);
    for (int32_t r = 0; r < y->out; r++)
        for (int32_t o = 0; o < x->out; o++)
            for (size_t i = 0; i < c; i++)
                out[((size_t)r * (size_t)x->out + (size_t)o) * c + i] =
                    resample_one(middle + (size_t)r * row + i, (int64_t)w, c, x, o);
    free(in);
    free(middle);
    return out;
}

TEST(resample_u8_is_within_rounding_of_exact)
{
    static const hr_interp interps[] = {HR_INTERP_LINEAR, HR_INTERP_CUBIC, HR_INTERP_LANCZOS3,
                                        HR_INTERP_TRIANGULAR};
    hr_error error;
    for (int round = 0; round < 150; round++) {
        hr_tensor in = image(HR_DTYPE_UINT8, between(1, 120), between(1, 120), between(1, 4));
        hr_interp interp = interps[rnd() % 4];
        hr_resample_axis y = random_axis(in.shape.extent[0], interp);
        hr_resample_axis x = random_axis(in.shape.extent[1], interp);
        double *want = resample_reference(&in, &y, &x), total = 0, far = 0;
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        size_t n;
        CHECK(hr_shape_volume(&out.shape, &n));
        for (size_t i = 0; i < n; i++) {
            double exact = fmin(fmax(want[i], 0), 255), away = fabs(value_at(&out, i) - exact);
            far = fmax(far, away);
            total += away;
        }
        /* 0.5 is the rounding itself; the rest is due to fixed point and single-precision
         * positions. */
        CHECK(far <= 0.56 && total / (double)n <= 0.5);
        free(want);
        free(in.data);
        free(out.data);
    }
}

TEST(resample_float_is_exact_to_single_precision)
{
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_INT16,
                                     HR_DTYPE_UINT16};
    hr_error error;
    for (int round = 0; round < 100; round++) {
        hr_tensor in = image(types[rnd() % 4], between(2, 90), between(2, 90), between(1, 5));
        hr_interp interp = rnd() % 2 ? HR_INTERP_LANCZOS3 : HR_INTERP_TRIANGULAR;
        hr_resample_axis y = random_axis(in.shape.extent[0], interp);
        hr_resample_axis x = random_axis(in.shape.extent[1], interp);
        double *want = resample_reference(&in, &y, &x);
        double most = in.dtype == HR_DTYPE_INT16 || in.dtype == HR_DTYPE_UINT16
                          ? 240
                          : 1; /* the range in units of 255 */
        bool to_float = rnd() & 1;
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, to_float ? HR_DTYPE_FLOAT : in.dtype, &error),
                 error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        CHECK(out.dtype == (to_float ? HR_DTYPE_FLOAT : in.dtype));
        size_t n;
        CHECK(hr_shape_volume(&out.shape, &n));
        for (size_t i = 0; i < n; i++) {
            double low = fmax(hr_dtype_min(out.dtype), -1e9),
                   high = fmin(hr_dtype_max(out.dtype), 1e9);
            double exact = fmin(fmax(want[i], low), high);
            double limit = out.dtype == HR_DTYPE_UINT8
                               ? 0.56
                               : (out.dtype == HR_DTYPE_FLOAT ? 0 : 0.5) + 4e-3 * most;
            CHECK(fabs(value_at(&out, i) - exact) <= limit);
        }
        free(want);
        free(in.data);
        free(out.data);
    }
}

/* One output element of a filter with given taps, whose elements are reflected. */
static double filter_one(const double *in, int64_t n, size_t step, const hr_given_taps *taps,
                         int64_t o)
{
    double sum = 0;
    for (int32_t k = 0; k < taps->count; k++) {
        int64_t at = o + k - taps->count / 2;
        while (n > 1 && (at < 0 || at >= n))
            at = at < 0 ? -at : 2 * (n - 1) - at;
        sum += (double)taps->taps[k] * in[(size_t)(n > 1 ? at : 0) * step];
    }
    return sum;
}

static double *filter_reference(const hr_tensor *t, const hr_given_taps *y, const hr_given_taps *x)
{
    size_t h = (size_t)t->shape.extent[0], w = (size_t)t->shape.extent[1];
    size_t c = (size_t)t->shape.extent[2], row = w * c;
    double *in = malloc(h * row * sizeof(double)), *middle = malloc(h * row * sizeof(double));
    for (size_t i = 0; i < h * row; i++)
        in[i] = value_at(t, i);
    for (size_t i = 0; i < h * row; i++)
        middle[i] = filter_one(in + i % row, (int64_t)h, row, y, (int64_t)(i / row));
    for (size_t i = 0; i < h * row; i++)
        in[i] =
            filter_one(middle + i / row * row + i % c, (int64_t)w, c, x, (int64_t)(i % row / c));
    free(middle);
    return in;
}

static double magnitude(const hr_given_taps *taps)
{
    double sum = 0;
    for (int32_t k = 0; k < taps->count; k++)
        sum += fabs((double)taps->taps[k]);
    return sum;
}

static void add_elements(double *to, double *more, const hr_tensor *t)
{
    size_t n = 0;
    hr_shape_volume(&t->shape, &n);
    for (size_t i = 0; i < n; i++)
        to[i] += more[i];
    free(more);
}

TEST(given_taps_are_reflected)
{
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_INT16};
    hr_error error;
    for (int round = 0; round < 200; round++) {
        hr_tensor in = image(types[rnd() % 3], between(1, 90), between(1, 120), between(1, 5));
        hr_given_taps y[] = {random_taps(round % 10 == 0 ? 200 : 21), random_taps(9)};
        hr_given_taps x[] = {random_taps(41), random_taps(50)};
        int32_t parts = between(1, 2);
        double *want = filter_reference(&in, &y[0], &x[0]);
        double scale = magnitude(&y[0]) * magnitude(&x[0]);
        if (parts == 2) {
            double *more = filter_reference(&in, &y[1], &x[1]);
            add_elements(want, more, &in);
            scale += magnitude(&y[1]) * magnitude(&x[1]);
        }
        bool to_float = rnd() % 3 == 0;
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
        CHECK_OK(hr_program_filter(&p, y, x, parts, to_float ? HR_DTYPE_FLOAT : in.dtype, &error),
                 error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        double most = in.dtype == HR_DTYPE_UINT8 ? 256 : 40000;
        double limit = (out.dtype == HR_DTYPE_FLOAT ? 0 : 0.57) + 2e-5 * most * scale;
        size_t n;
        CHECK(hr_shape_volume(&out.shape, &n) && hr_shape_equal(&out.shape, &in.shape));
        for (size_t i = 0; i < n; i++) {
            double low = fmax(hr_dtype_min(out.dtype), -1e30);
            double exact = fmin(fmax(want[i], low), fmin(hr_dtype_max(out.dtype), 1e30));
            CHECK(fabs(value_at(&out, i) - exact) <= limit);
        }
        free(want);
        free(in.data);
        free(out.data);
    }
}

TEST(gaussian_table)
{
    /* Halving: the taps are at t = -.75, -.25, .25, .75, which are entries of the table. */
    hr_filter_axis axis = {.resample = {0, 8, 4, HR_INTERP_GAUSSIAN, true, false}};
    hr_filter_taps f;
    hr_error error;
    CHECK_OK(hr_filter_make(&f, &axis, 8, arena(), &error), error);
    CHECK(f.out == 4 && f.taps == 4 && f.start[1] == 1 && f.start[2] == 3);
    double outer = exp(-2.25), inner = exp(-0.25), sum = 2 * (outer + inner);
    CHECK(fabs(f.coef[4] - outer / sum) < 1e-6 && fabs(f.coef[5] - inner / sum) < 1e-6);
    /* At the edge the tap outside is folded onto the first element. */
    CHECK(f.start[0] == 0 && fabs(f.coef[0] - (outer + inner) / sum) < 1e-6);
}

TEST(nearest_and_identity_are_exact)
{
    hr_error error;
    for (int round = 0; round < 200; round++) {
        static const hr_interp interps[] = {HR_INTERP_NN, HR_INTERP_LINEAR, HR_INTERP_CUBIC,
                                            HR_INTERP_TRIANGULAR};
        hr_dtype dtype = (hr_dtype)(rnd() % HR_DTYPE_COUNT);
        hr_tensor in = image(dtype, between(3, 40), between(3, 40), between(1, 5));
        bool nearest = rnd() & 1, mirror = rnd() & 1;
        int32_t h = (int32_t)in.shape.extent[0], w = (int32_t)in.shape.extent[1];
        int32_t oh = nearest ? between(1, 60) : h - 2, ow = nearest ? between(1, 60) : w - 1;
        hr_interp interp = nearest ? HR_INTERP_NN : interps[rnd() % 4];
        hr_resample_axis y = {nearest ? 0 : 1, nearest ? h : h - 1, oh, interp, true, false};
        hr_resample_axis x = {mirror ? ow : 0, mirror ? 0 : ow, ow, interp, true, false};
        if (nearest)
            x.lo = mirror ? w : 0, x.hi = mirror ? 0 : w;
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, dtype, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        size_t pixel = hr_dtype_size(dtype) * (size_t)in.shape.extent[2];
        for (int32_t r = 0; r < oh; r++) {
            for (int32_t o = 0; o < ow; o++) {
                /* in integers: floor((2 o + 1) n / (2 out)), counted from the other end if mirrored
                 */
                int64_t sy = nearest ? (int64_t)(2 * r + 1) * h / (2 * oh) : r + 1;
                int64_t sx = nearest  ? (int64_t)(2 * o + 1) * w / (2 * ow)
                             : mirror ? ow - 1 - o
                                      : o;
                bool edge =
                    nearest && ((2 * r + 1) * h % (2 * oh) == 0 || (2 * o + 1) * w % (2 * ow) == 0);
                if (nearest && mirror)
                    sx = (int64_t)(2 * (ow - 1 - o) + 1) * w / (2 * ow);
                if (edge) /* exactly between two pixels: depends on single precision */
                    continue;
                CHECK(memcmp((char *)out.data + (size_t)(r * ow + o) * pixel,
                             (char *)in.data + (size_t)(sy * w + sx) * pixel, pixel) == 0);
            }
        }
        free(in.data);
        free(out.data);
    }
}

/* ---- steps without arithmetic, and normalisation, element by element ---- */

TEST(crop_flip_fill_by_coordinates)
{
    hr_error error;
    for (int round = 0; round < 300; round++) {
        hr_dtype dtype = (hr_dtype)(rnd() % HR_DTYPE_COUNT);
        hr_tensor in = random_tensor(dtype);
        int64_t h = extent_of(&in, 'H'), w = extent_of(&in, 'W'), at[128] = {0};
        hr_window k = {between(-5, (int32_t)h), between(-5, (int32_t)w), between(0, 50),
                       between(0, 50)};
        bool fx = rnd() & 1, fy = rnd() & 1, fd = rnd() & 1;
        int64_t d = extent_of(&in, 'D'), z = 0, count = d;
        float fill[4] = {3, 90, 0, 1};
        int32_t fills = rnd() & 1 ? 1 : (int32_t)extent_of(&in, 'C');
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
        if (hr_program_has(&p, 'D')) {
            z = between(-3, (int32_t)d + 1);
            count = between(0, (int32_t)d + 3);
            CHECK_OK(hr_program_flip(&p, false, false, fd, &error), error);
            CHECK_OK(hr_program_crop_outer(&p, 'D', z, count, fill, fills, &error), error);
            CHECK_OK(hr_program_flip(&p, false, false, fd, &error), error);
            z = fd ? d - (z + count) : z;
        }
        CHECK_OK(hr_program_crop(&p, k, fill, fills, &error), error);
        CHECK_OK(hr_program_flip(&p, fx, fy, fd, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        CHECK(extent_of(&out, 'H') == k.h && extent_of(&out, 'W') == k.w);
        CHECK(extent_of(&out, 'D') == count);
        size_t n, size = hr_dtype_size(dtype);
        CHECK(hr_shape_volume(&out.shape, &n));
        for (size_t i = 0; i < n; i++) {
            coordinates(&out, i, at);
            at['H'] = k.y + (fy ? k.h - 1 - at['H'] : at['H']);
            at['W'] = k.x + (fx ? k.w - 1 - at['W'] : at['W']);
            at['D'] = z + (fd ? count - 1 - at['D'] : at['D']);
            bool inside = at['H'] >= 0 && at['H'] < h && at['W'] >= 0 && at['W'] < w &&
                          at['D'] >= 0 && at['D'] < d;
            char filled[8];
            hr_convert(filled, dtype, &fill[fills == 1 ? 0 : at['C']], HR_DTYPE_FLOAT, 1);
            CHECK(memcmp((char *)out.data + i * size,
                         inside ? (char *)in.data + offset_of(&in, at) * size : filled, size) == 0);
        }
        free(in.data);
        free(out.data);
    }
}

TEST(normalize_permute_pad_by_coordinates)
{
    static const hr_dtype in_types[] = {HR_DTYPE_UINT8, HR_DTYPE_INT16, HR_DTYPE_FLOAT,
                                        HR_DTYPE_FLOAT16};
    static const hr_dtype out_types[] = {HR_DTYPE_FLOAT, HR_DTYPE_FLOAT16, HR_DTYPE_UINT8,
                                         HR_DTYPE_INT8};
    static const float mean[4] = {1.5f, 20, 100, 7}, mul[4] = {0.7f, 1.25f, 0.01f, 2};
    hr_error error;
    for (int round = 0; round < 300; round++) {
        hr_tensor in = random_tensor(in_types[rnd() % 4]);
        hr_dtype dtype = out_types[rnd() % 4];
        int64_t channels = extent_of(&in, 'C'), at[128] = {0};
        int32_t count = rnd() & 1 ? 1 : (int32_t)channels;
        bool pads = hr_layout_find(&in.layout, 'C') >= 0 && rnd() % 2;
        float fill = (float)between(0, 3);
        char layout[HR_MAX_NDIM + 1];
        strcpy(layout, in.layout.name);
        for (int swap = 0; swap < 4; swap++) { /* a random permutation */
            size_t a = rnd() % strlen(layout), b = rnd() % strlen(layout);
            char letter = layout[a];
            layout[a] = layout[b];
            layout[b] = letter;
        }
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
        CHECK_OK(hr_program_normalize(&p, mean, mul, count, dtype, &error), error);
        CHECK_OK(hr_program_output(&p, layout, pads ? (int32_t)channels + 1 : 0, &fill, 1, &error),
                 error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        CHECK(strcmp(out.layout.name, layout) == 0 && out.dtype == dtype);
        CHECK(extent_of(&out, 'C') == channels + pads);
        size_t n, size = hr_dtype_size(dtype);
        CHECK(hr_shape_volume(&out.shape, &n));
        for (size_t i = 0; i < n; i++) {
            coordinates(&out, i, at);
            float want = fill;
            if (at['C'] < channels) {
                int64_t c = count == 1 ? 0 : at['C'];
                volatile float difference = (float)value_at(&in, offset_of(&in, at)) - mean[c];
                want = difference * mul[c];
            }
            char converted[8];
            hr_convert(converted, dtype, &want, HR_DTYPE_FLOAT, 1);
            CHECK(memcmp((char *)out.data + i * size, converted, size) == 0);
        }
        free(in.data);
        free(out.data);
    }
}

TEST(matrix_table_and_cast)
{
    hr_error error;
    hr_tensor in = image(HR_DTYPE_UINT8, 9, 11, 3), out;
    static uint8_t table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i * 7 + 3);
    hr_point_step matrix = {
        .kind = HR_POINT_KIND_MATRIX,
        .dtype = HR_DTYPE_UINT8,
        .matrix = {{{0.5f, 0.25f, 0.125f}, {0, 1, 0}, {1, 1, 1}}, {10, -50, 0}, 3, 3}};
    hr_point_step look_up = {.kind = HR_POINT_KIND_TABLE, .dtype = HR_DTYPE_UINT8, .table = table};
    hr_point_step cast = {.kind = HR_POINT_KIND_CAST, .dtype = HR_DTYPE_INT8};
    hr_image_program p;
    CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
    CHECK_OK(hr_program_point(&p, &matrix, &error), error);
    CHECK_OK(hr_program_point(&p, &look_up, &error), error);
    CHECK_OK(hr_program_point(&p, &cast, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    CHECK(out.dtype == HR_DTYPE_INT8);
    for (size_t i = 0; i < 9 * 11 * 3; i++) {
        const uint8_t *from = (const uint8_t *)in.data + i / 3 * 3;
        const float *m = matrix.matrix.m[i % 3];
        double v = m[0] * from[0] + m[1] * from[1] + m[2] * from[2] + matrix.matrix.add[i % 3];
        uint8_t found = table[(uint8_t)floor(fmin(fmax(v, 0), 255) + 0.5)];
        CHECK(((int8_t *)out.data)[i] == (int8_t)fmin(found, 127));
    }
    free(in.data);
    free(out.data);
}

/* Grey to colour, four channels to two, and back to one: shapes, types and values. */
TEST(matrices_change_the_number_of_channels)
{
    static const int32_t shapes[][2] = {{1, 3}, {3, 1}, {4, 2}, {2, 4}, {1, 1}, {3, 4}};
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_INT16};
    hr_error error;
    for (size_t k = 0; k < 9 * HR_COUNT_OF(shapes); k++) {
        int32_t in = shapes[k / 9][0], out = shapes[k / 9][1];
        hr_dtype from = types[k % 3], to = types[k / 3 % 3];
        hr_tensor t = image(from, 5, 70, in), got;
        hr_point_step step = {.kind = HR_POINT_KIND_MATRIX, .dtype = to};
        step.matrix.in = in;
        step.matrix.out = out;
        for (int i = 0; i < HR_MATRIX_MAX * HR_MATRIX_MAX; i++)
            step.matrix.m[i / HR_MATRIX_MAX][i % HR_MATRIX_MAX] = (float)(unit() * 2 - 0.5);
        for (int i = 0; i < HR_MATRIX_MAX; i++)
            step.matrix.add[i] = (float)between(-9, 9) / 3;
        hr_image_program p;
        CHECK_OK(hr_program_from_tensor(&p, &t, "HWC", &error), error);
        CHECK_OK(hr_program_point(&p, &step, &error), error);
        CHECK(hr_program_extent(&p, 'C') == out && hr_program_dtype(&p) == to);
        CHECK(hr_program_point(&p, &step, &error) ==
              (in == out ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE));
        p.point_count = 1;
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &got, &error), error);
        CHECK(got.shape.extent[2] == out);
        for (size_t i = 0; i < 5 * 70; i++) {
            for (int32_t c = 0; c < out; c++) {
                volatile float sum = 0.0f, product;
                for (int32_t j = 0; j < in; j++) {
                    product = step.matrix.m[c][j] * (float)value_at(&t, i * (size_t)in + (size_t)j);
                    sum = j == 0 ? product : sum + product;
                }
                sum = sum + step.matrix.add[c];
                float want = sum;
                char element[8];
                hr_convert(element, to, &want, HR_DTYPE_FLOAT, 1);
                size_t size = hr_dtype_size(to), at = (i * (size_t)out + (size_t)c) * size;
                CHECK(memcmp((char *)got.data + at, element, size) == 0);
            }
        }
        free(t.data);
        free(got.data);
    }
}

TEST(fractions_are_cut_off)
{
    static const hr_dtype types[] = {HR_DTYPE_FLOAT, HR_DTYPE_FLOAT64, HR_DTYPE_FLOAT16};
    static const double values[] = {-1e9,   -0.99, -1.5, 0.5,      0.999, 1.5,
                                    254.75, 255.5, 1e9,  INFINITY, NAN,   17.0};
    static const uint8_t want[] = {0, 0, 0, 0, 0, 1, 254, 255, 255, 255, 0, 17};
    hr_point_step cut = {.kind = HR_POINT_KIND_CUT, .dtype = HR_DTYPE_UINT8};
    hr_error error;
    for (size_t k = 0; k < HR_COUNT_OF(types); k++) {
        hr_tensor in = image(types[k], 3, 4, 1), out;
        hr_convert(in.data, types[k], values, HR_DTYPE_FLOAT64, 12);
        hr_image_program p;
        CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
        CHECK_OK(hr_program_point(&p, &cut, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        CHECK(out.dtype == HR_DTYPE_UINT8 && memcmp(out.data, want, sizeof(want)) == 0);
        free(in.data);
        free(out.data);
    }
}

/* ---- errors ---- */

TEST(errors_say_what_is_wrong)
{
    hr_error error;
    hr_tensor in = image(HR_DTYPE_UINT8, 10, 20, 3);
    hr_resample_axis good = {0, 10, 5, HR_INTERP_LINEAR, true, false},
                     bad = {0, NAN, 5, HR_INTERP_LINEAR, true, false};
    float values[2] = {1, 2};
    hr_image_program p;
    hr_tensor out;
    CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
    CHECK(hr_program_crop(&p, (hr_window){0, 15, 5, 6}, NULL, 0, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "10 x 20") != NULL);
    CHECK(hr_program_crop(&p, (hr_window){INT64_MAX, 0, 5, 5}, values, 1, &error) ==
          HR_STATUS_ERROR);
    CHECK(hr_program_crop(&p, (hr_window){0, 0, -1, 5}, values, 1, &error) == HR_STATUS_ERROR);
    CHECK(hr_program_crop(&p, (hr_window){0, 15, 5, 6}, values, 2, &error) == HR_STATUS_ERROR);
    CHECK(hr_program_normalize(&p, values, values, 2, HR_DTYPE_FLOAT, &error) == HR_STATUS_ERROR);
    CHECK(hr_program_normalize(&p, values, values, 1, HR_DTYPE_INT32, &error) == HR_STATUS_ERROR);
    CHECK(hr_program_output(&p, "HWX", 0, NULL, 0, &error) == HR_STATUS_VALUE);
    CHECK(hr_program_output(&p, "HHC", 0, NULL, 0, &error) == HR_STATUS_VALUE);
    CHECK(hr_program_resample(&p, &good, &good, HR_DTYPE_INT16, &error) == HR_STATUS_ERROR);
    CHECK(hr_program_crop_outer(&p, 'D', 0, 1, NULL, 0, &error) == HR_STATUS_NOT_FUSABLE);
    CHECK_OK(hr_program_resample(&p, &good, &bad, HR_DTYPE_UINT8, &error), error);
    CHECK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error) == HR_STATUS_ERROR);
    free(out.data);
    free(in.data);
}

TEST(no_memory_is_an_error)
{
    hr_error error;
    hr_tensor in = image(HR_DTYPE_UINT8, 600, 700, 3), out;
    fake_codec codec = {.image = &in};
    hr_resample_axis axis = {0, 600, 300, HR_INTERP_CUBIC, true, false};
    hr_image_program p;
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_resample(&p, &axis, &axis, HR_DTYPE_UINT8, &error), error);
    int failures = 0;
    for (int n = 0; n < 40; n++) {
        hr_arena *fresh;
        CHECK_OK(hr_arena_create(&fresh, &error), error);
        hr_op_call c = {.arena = fresh, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
        hr_program_describe(&p, &out);
        out.data = malloc(300 * 300 * 3);
        hr_alloc_fail_after(n);
        hr_status status = hr_program_run(&p, &c, out.data, &error);
        hr_alloc_fail_after(-1);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
        failures += status != HR_STATUS_OK;
        free(out.data);
        hr_arena_destroy(fresh);
    }
    CHECK(failures > 0 && failures < 40);
    free(in.data);
}

TEST_MAIN
