/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The image program against plain references written here (double precision, one element at a
 * time), and against itself: many random chains of steps, fused and one by one, on every CPU level,
 * must give the same bytes. */
#include "test.h"

#include "image/program.h"

#include <math.h>
#include <stdlib.h>

static uint64_t random_state = 88172645463325252u;

static uint32_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(rnd() % (uint32_t)(high - low + 1));
}

static double unit(void)
{
    return (rnd() & 0xffffff) / 16777216.0;
}

static hr_arena *arena(void)
{
    static hr_arena *one;
    if (one == NULL)
        hr_arena_create(&one, NULL);
    return one;
}

static hr_op_call call_at(hr_cpu_level level)
{
    return (hr_op_call){.arena = arena(), .kernels = hr_kernels_get(level)};
}

/* ---- tensors that own exactly their bytes, so that a sanitizer sees reads and writes beyond ----
 */

static hr_tensor tensor_alloc(hr_dtype dtype, const char *layout, const int64_t *extent)
{
    hr_tensor t;
    size_t bytes;
    hr_tensor_describe(&t, dtype, hr_shape_make((int32_t)strlen(layout), extent), layout);
    hr_tensor_bytes(&t, &bytes);
    t.data = malloc(bytes > 0 ? bytes : 1);
    return t;
}

static void tensor_randomize(hr_tensor *t)
{
    size_t n;
    hr_shape_volume(&t->shape, &n);
    for (size_t i = 0; i < n; i++) {
        bool small = t->dtype == HR_DTYPE_UINT8 || hr_dtype_is_float(t->dtype);
        double v = small ? 255.0 * unit() : floor((unit() - 0.5) * 60000.0);
        hr_convert((char *)t->data + i * hr_dtype_size(t->dtype), t->dtype, &v, HR_DTYPE_FLOAT64,
                   1);
    }
}

static hr_tensor tensor_make(hr_dtype dtype, const char *layout, const int64_t *extent)
{
    hr_tensor t = tensor_alloc(dtype, layout, extent);
    tensor_randomize(&t);
    return t;
}

static hr_tensor picture(hr_dtype dtype, int64_t h, int64_t w, int64_t c)
{
    return tensor_make(dtype, "HWC", (int64_t[]){h, w, c});
}

/* Offset of an element by the letters of its coordinates: at['H'] and so on. */
static size_t offset_of(const hr_tensor *t, const int64_t *at)
{
    size_t offset = 0;
    for (int32_t i = 0; i < t->shape.ndim; i++)
        offset = offset * (size_t)t->shape.extent[i] + (size_t)at[(int)t->layout.name[i]];
    return offset;
}

/* Coordinates of element `i`. */
static void coordinates(const hr_tensor *t, size_t i, int64_t *at)
{
    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        at[(int)t->layout.name[d]] = (int64_t)(i % (size_t)t->shape.extent[d]);
        i /= (size_t)t->shape.extent[d];
    }
}

static int64_t extent_of(const hr_tensor *t, char letter)
{
    int32_t d = hr_layout_find(&t->layout, letter);
    return d < 0 ? 1 : t->shape.extent[d];
}

static double value_at(const hr_tensor *t, size_t i)
{
    return hr_element_double(t->data, t->dtype, i);
}

/* Runs into memory of exactly the output's size. */
static hr_status run(const hr_image_program *p, hr_cpu_level level, hr_tensor *out, hr_error *error)
{
    hr_op_call c = call_at(level);
    size_t bytes;
    hr_program_describe(p, out);
    hr_tensor_bytes(out, &bytes);
    out->data = malloc(bytes > 0 ? bytes : 1);
    memset(out->data, 0xA5, bytes);
    hr_status status = hr_program_run(p, &c, out->data, error);
    hr_arena_reset(arena());
    return status;
}

static bool same(const hr_tensor *a, const hr_tensor *b)
{
    size_t bytes;
    return a->dtype == b->dtype && hr_shape_equal(&a->shape, &b->shape) &&
           strcmp(a->layout.name, b->layout.name) == 0 && hr_tensor_bytes(a, &bytes) &&
           memcmp(a->data, b->data, bytes) == 0;
}

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

/* The curve as DALI has it: a table of 32 entries a unit, interpolated. */
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

static hr_resample_axis random_axis(int64_t n, hr_interp interp)
{
    hr_resample_axis axis = {0, (double)n, between(1, 90), interp, rnd() % 4 != 0, false};
    if (rnd() % 3 == 0) {
        axis.lo = unit() * (double)n * 0.4;
        axis.hi = (double)n * (0.5 + unit() * 0.6);
    }
    if (rnd() % 5 == 0) {
        double swap = axis.lo;
        axis.lo = axis.hi;
        axis.hi = swap;
    }
    return axis;
}

TEST(resample_u8_is_within_rounding_of_exact)
{
    static const hr_interp interps[] = {HR_INTERP_LINEAR, HR_INTERP_CUBIC, HR_INTERP_LANCZOS3,
                                        HR_INTERP_TRIANGULAR};
    hr_error error;
    for (int round = 0; round < 150; round++) {
        hr_tensor in = picture(HR_DTYPE_UINT8, between(1, 120), between(1, 120), between(1, 4));
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
        /* 0.5 is rounding itself; the rest is fixed point, and single precision in the positions.
         */
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
        hr_tensor in = picture(types[rnd() % 4], between(2, 90), between(2, 90), between(1, 5));
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

TEST(gaussian_table)
{
    /* Halving: taps at t = -.75, -.25, .25, .75 of a curve whose table meets these points exactly.
     */
    hr_resample_axis axis = {0, 8, 4, HR_INTERP_GAUSSIAN, true, false};
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
        hr_tensor in = picture(dtype, between(3, 40), between(3, 40), between(1, 5));
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
                /* in integers: floor((2 o + 1) n / (2 out)), from the other end when mirrored */
                int64_t sy = nearest ? (int64_t)(2 * r + 1) * h / (2 * oh) : r + 1;
                int64_t sx = nearest  ? (int64_t)(2 * o + 1) * w / (2 * ow)
                             : mirror ? ow - 1 - o
                                      : o;
                bool edge =
                    nearest && ((2 * r + 1) * h % (2 * oh) == 0 || (2 * o + 1) * w % (2 * ow) == 0);
                if (nearest && mirror)
                    sx = (int64_t)(2 * (ow - 1 - o) + 1) * w / (2 * ow);
                if (edge) /* exactly between two pixels: single precision decides */
                    continue;
                CHECK(memcmp((char *)out.data + (size_t)(r * ow + o) * pixel,
                             (char *)in.data + (size_t)(sy * w + sx) * pixel, pixel) == 0);
            }
        }
        free(in.data);
        free(out.data);
    }
}

/* ---- the steps without arithmetic, and normalisation, element by element ---- */

static const char *const layouts[] = {"HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW", "HW", "FCDHW"};

static hr_tensor random_tensor(hr_dtype dtype)
{
    const char *layout = layouts[rnd() % HR_COUNT_OF(layouts)];
    int64_t extent[HR_MAX_NDIM];
    for (size_t i = 0; i < strlen(layout); i++)
        extent[i] = layout[i] == 'H' || layout[i] == 'W' ? between(1, 40) : between(1, 4);
    return tensor_make(dtype, layout, extent);
}

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
        float fill[4] = {3, 90, 0, 1};
        int32_t fills = rnd() & 1 ? 1 : (int32_t)extent_of(&in, 'C');
        hr_image_program p;
        hr_tensor out;
        CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
        CHECK_OK(hr_program_crop(&p, k, fill, fills, &error), error);
        CHECK_OK(hr_program_flip(&p, fx, fy, fd, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
        CHECK(extent_of(&out, 'H') == k.h && extent_of(&out, 'W') == k.w);
        size_t n, size = hr_dtype_size(dtype);
        CHECK(hr_shape_volume(&out.shape, &n));
        for (size_t i = 0; i < n; i++) {
            coordinates(&out, i, at);
            at['H'] = k.y + (fy ? k.h - 1 - at['H'] : at['H']);
            at['W'] = k.x + (fx ? k.w - 1 - at['W'] : at['W']);
            at['D'] = fd ? extent_of(&in, 'D') - 1 - at['D'] : at['D'];
            bool inside = at['H'] >= 0 && at['H'] < h && at['W'] >= 0 && at['W'] < w;
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

TEST(matrix_and_cast)
{
    hr_error error;
    hr_tensor in = picture(HR_DTYPE_UINT8, 9, 11, 3), out;
    hr_point_step matrix = {HR_POINT_KIND_MATRIX,
                            HR_DTYPE_UINT8,
                            {{0.5f, 0.25f, 0.125f, 10}, {0, 1, 0, -50}, {1, 1, 1, 0}}};
    hr_point_step cast = {.kind = HR_POINT_KIND_CAST, .dtype = HR_DTYPE_INT8};
    hr_image_program p;
    CHECK_OK(hr_program_from_tensor(&p, &in, "HWC", &error), error);
    CHECK_OK(hr_program_point(&p, &matrix, &error), error);
    CHECK_OK(hr_program_point(&p, &cast, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    CHECK(out.dtype == HR_DTYPE_INT8);
    for (size_t i = 0; i < 9 * 11 * 3; i++) {
        const uint8_t *from = (const uint8_t *)in.data + i / 3 * 3;
        const float *m = matrix.m[i % 3];
        double v = m[0] * from[0] + m[1] * from[1] + m[2] * from[2] + m[3];
        v = floor(fmin(fmax(v, 0), 255) + 0.5); /* to u8 first, then to i8 */
        CHECK(((int8_t *)out.data)[i] == (int8_t)fmin(v, 127));
    }
    free(in.data);
    free(out.data);
}

/* ---- coded sources ---- */

typedef struct fake_codec {
    const hr_tensor *picture;
    hr_window last;
    int32_t calls;
    bool by_rows;    /* offers rows */
    int64_t give_up; /* ... but gives up at this one; < 0: never */
    int64_t row;     /* of the window, next */
} fake_codec;

static hr_status fake_decode(void *context, hr_window window, void *dst, size_t stride,
                             hr_op_call *c, hr_error *error)
{
    fake_codec *codec = context;
    const int64_t *extent = codec->picture->shape.extent;
    size_t pixel = hr_dtype_size(codec->picture->dtype) * (size_t)extent[2];
    (void)c;
    codec->last = window;
    codec->calls++;
    if (window.y < 0 || window.x < 0 || window.y + window.h > extent[0] ||
        window.x + window.w > extent[1])
        return hr_fail(error, HR_STATUS_ERROR, "a window outside of the picture was asked for");
    for (int64_t y = 0; y < window.h; y++)
        memcpy((char *)dst + (size_t)y * stride,
               (const char *)codec->picture->data +
                   (size_t)((window.y + y) * extent[1] + window.x) * pixel,
               (size_t)window.w * pixel);
    return HR_STATUS_OK;
}

static hr_status fake_open(void *context, hr_window window, hr_op_call *c, hr_error *error)
{
    fake_codec *codec = context;
    (void)c;
    (void)error;
    codec->last = window;
    codec->row = 0;
    codec->calls++;
    return codec->give_up == 0 ? HR_STATUS_NOT_FUSABLE : HR_STATUS_OK;
}

static hr_status fake_read(void *context, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    fake_codec *codec = context;
    const int64_t *extent = codec->picture->shape.extent;
    size_t pixel = hr_dtype_size(codec->picture->dtype) * (size_t)extent[2];
    if (codec->row + rows > codec->last.h)
        return hr_fail(error, HR_STATUS_ERROR, "more rows than the window has");
    for (int32_t y = 0; y < rows; y++, codec->row++) {
        if (codec->row == codec->give_up)
            return HR_STATUS_NOT_FUSABLE;
        memcpy((char *)dst + (size_t)y * stride,
               (const char *)codec->picture->data +
                   (size_t)((codec->last.y + codec->row) * extent[1] + codec->last.x) * pixel,
               (size_t)codec->last.w * pixel);
    }
    return HR_STATUS_OK;
}

static hr_status from_fake(hr_image_program *p, fake_codec *codec, hr_error *error)
{
    const int64_t *extent = codec->picture->shape.extent;
    hr_image_source source = {codec, fake_decode, codec->by_rows ? fake_open : NULL, fake_read};
    return hr_program_from_coded(p, source, codec->picture->dtype, extent[0], extent[1],
                                 (int32_t)extent[2], error);
}

TEST(only_what_the_window_needs_is_decoded)
{
    hr_error error;
    hr_tensor in = picture(HR_DTYPE_UINT8, 512, 512, 3), out;
    fake_codec codec = {.picture = &in};
    hr_resample_axis axis = {0, 512, 256, HR_INTERP_TRIANGULAR, true, false};
    hr_image_program p;
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_resample(&p, &axis, &axis, HR_DTYPE_UINT8, &error), error);
    CHECK_OK(hr_program_crop(&p, (hr_window){16, 16, 224, 224}, NULL, 0, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    /* 448 pixels, and the filter's reach of one beyond either end */
    CHECK(codec.calls == 1 && codec.last.y == 31 && codec.last.h == 450);
    CHECK(codec.last.x == 31 && codec.last.w == 450);
    free(out.data);
    /* Nothing but decoding goes straight into the output. */
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_crop(&p, (hr_window){100, 7, 30, 40}, NULL, 0, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    CHECK(codec.calls == 2 && codec.last.y == 100 && codec.last.x == 7);
    CHECK(codec.last.h == 30 && codec.last.w == 40);
    CHECK(memcmp(out.data, (char *)in.data + (100 * 512 + 7) * 3, 40 * 3) == 0);
    free(in.data);
    free(out.data);
}

TEST(rows_come_once_and_in_order)
{
    hr_error error;
    hr_tensor in = picture(HR_DTYPE_UINT8, 300, 200, 3), want, got;
    hr_resample_axis y = {0, 300, 120, HR_INTERP_CUBIC, true, false},
                     x = {0, 200, 90, HR_INTERP_CUBIC, true, false};
    for (int64_t give_up = -1; give_up < 300; give_up += 37) {
        fake_codec whole = {.picture = &in}, rows = {&in, .by_rows = true, .give_up = give_up};
        hr_image_program p;
        CHECK_OK(from_fake(&p, &whole, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &want, &error), error);
        CHECK_OK(from_fake(&p, &rows, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &got, &error), error);
        CHECK(same(&want, &got));
        CHECK(rows.calls == (give_up < 0 ? 1 : 2)); /* opened, and decoded whole after giving up */
        CHECK(give_up >= 0 || rows.row == 300);
        free(want.data);
        free(got.data);
    }
    free(in.data);
}

/* ---- fused against one step at a time ---- */

typedef enum step_kind {
    CROP,
    CROP_FILL,
    FLIP,
    RESAMPLE,
    CAST,
    MATRIX,
    NORMALIZE,
    OUTPUT,
    KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    hr_window window;
    float fill[4];
    int32_t fill_count, pad;
    bool flip[3];
    hr_resample_axis y, x;
    hr_point_step point;
    float mean[4], mul[4];
    hr_dtype dtype;
    char layout[HR_MAX_NDIM + 1];
} step;

static void random_output(step *s, const hr_tensor *t)
{
    const char *choices[] = {"HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW"};
    strcpy(s->layout, t->layout.name);
    for (int tries = 0; tries < 4; tries++) {
        const char *pick = choices[rnd() % 6];
        bool fits = strlen(pick) == strlen(t->layout.name);
        for (const char *at = pick; *at != '\0'; at++)
            fits = fits && strchr(t->layout.name, *at) != NULL;
        if (fits)
            strcpy(s->layout, pick);
    }
    s->pad = rnd() % 3 == 0 ? (int32_t)extent_of(t, 'C') + 1 : 0;
}

/* A step that suits the picture `t`. */
static step random_step(const hr_tensor *t)
{
    static const hr_dtype casts[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_INT16,
                                     HR_DTYPE_INT32};
    static const hr_dtype norms[] = {HR_DTYPE_FLOAT, HR_DTYPE_FLOAT16, HR_DTYPE_UINT8,
                                     HR_DTYPE_INT8};
    step s = {.kind = (step_kind)(rnd() % KINDS)};
    int32_t h = (int32_t)extent_of(t, 'H'), w = (int32_t)extent_of(t, 'W');
    s.window.h = between(1, h);
    s.window.w = between(1, w);
    s.window.y = between(0, h - (int32_t)s.window.h);
    s.window.x = between(0, w - (int32_t)s.window.w);
    if (s.kind == CROP_FILL)
        s.window = (hr_window){between(-6, h), between(-6, w), between(1, 50), between(1, 50)};
    s.fill_count = rnd() & 1 ? 1 : (int32_t)extent_of(t, 'C');
    for (int c = 0; c < 4; c++) {
        s.fill[c] = (float)between(-100, 300) / 3;
        s.mean[c] = (float)(unit() * 200);
        s.mul[c] = (float)(unit() * 3);
    }
    for (int i = 0; i < 3; i++)
        s.flip[i] = rnd() & 1;
    hr_interp interp = (hr_interp)(rnd() % HR_INTERP_COUNT);
    s.y = random_axis(h, interp);
    s.x = random_axis(w, rnd() % 4 ? interp : HR_INTERP_NN);
    s.point.kind = s.kind == MATRIX ? HR_POINT_KIND_MATRIX : HR_POINT_KIND_CAST;
    s.point.dtype = casts[rnd() % 4];
    for (int i = 0; i < 12; i++)
        s.point.m[i / 4][i % 4] = (float)(unit() * 2 - 0.5);
    s.dtype = s.kind == RESAMPLE ? (rnd() % 4 ? t->dtype : HR_DTYPE_FLOAT) : norms[rnd() % 4];
    random_output(&s, t);
    return s;
}

static hr_status add_step(hr_image_program *p, const step *s, hr_error *error)
{
    switch (s->kind) {
    case CROP:
        return hr_program_crop(p, s->window, NULL, 0, error);
    case CROP_FILL:
        return hr_program_crop(p, s->window, s->fill, s->fill_count, error);
    case FLIP:
        return hr_program_flip(p, s->flip[0], s->flip[1], s->flip[2], error);
    case RESAMPLE:
        return hr_program_resample(p, &s->y, &s->x, s->dtype, error);
    case CAST:
    case MATRIX:
        return hr_program_point(p, &s->point, error);
    case NORMALIZE:
        return hr_program_normalize(p, s->mean, s->mul, s->fill_count, s->dtype, error);
    default:
        return hr_program_output(p, s->layout, s->pad, s->fill, 1, error);
    }
}

/* Runs the chain so far and starts again from its result, which replaces `*held`. */
static hr_status cut(hr_image_program *p, hr_tensor *held, hr_cpu_level level, hr_error *error)
{
    hr_tensor next;
    HR_TRY(run(p, level, &next, error));
    free(held->data);
    *held = next;
    return hr_program_from_tensor(p, held, NULL, error);
}

enum { STEPS_MAX = 6 };

/* Makes a chain step by step, running each; returns its length and the result. */
static int build_chain(step *chain, const hr_tensor *in, hr_tensor *out, hr_error *error)
{
    int count = 0, wanted = between(1, STEPS_MAX);
    hr_tensor now = *in, next;
    for (int tries = 0; tries < 30 && count < wanted; tries++) {
        hr_image_program p;
        step s = random_step(&now);
        if (extent_of(&now, 'C') > 4 ||
            hr_program_from_tensor(&p, &now, NULL, error) != HR_STATUS_OK ||
            add_step(&p, &s, error) != HR_STATUS_OK)
            continue;
        if (run(&p, HR_CPU_LEVEL_BASE, &next, error) != HR_STATUS_OK)
            return -1;
        if (now.data != in->data)
            free(now.data);
        now = next;
        chain[count++] = s;
    }
    *out = now;
    return count;
}

typedef enum coding { PLAIN, CODED, CODED_ROWS, CODED_ROWS_BROKEN, CODINGS } coding;

/* The same chain, cut only where it must be. Counts the cuts; a refusal must leave the program as
 * it was. */
static hr_status run_fused(const step *chain, int count, hr_tensor *in, coding coded,
                           hr_cpu_level level, hr_tensor *out, int *cuts, hr_error *error)
{
    hr_image_program p, before;
    fake_codec codec = {.picture = in,
                        .by_rows = coded >= CODED_ROWS,
                        .give_up = coded == CODED_ROWS_BROKEN ? (int64_t)(rnd() % 20) : -1};
    hr_tensor held = {.data = NULL};
    HR_TRY(coded != PLAIN ? from_fake(&p, &codec, error)
                          : hr_program_from_tensor(&p, in, NULL, error));
    for (int i = 0; i < count; i++) {
        memcpy(&before, &p, sizeof(p));
        hr_status status = add_step(&p, &chain[i], error);
        if (status == HR_STATUS_NOT_FUSABLE) {
            if (memcmp(&before, &p, sizeof(p)) != 0)
                return hr_fail(error, HR_STATUS_ERROR, "a refused step changed the program");
            *cuts += 1;
            HR_TRY(cut(&p, &held, level, error));
            status = add_step(&p, &chain[i], error);
        }
        HR_TRY(status);
    }
    HR_TRY(run(&p, level, out, error));
    free(held.data);
    return HR_STATUS_OK;
}

TEST(fused_is_unfused_on_every_level)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_UINT8, HR_DTYPE_FLOAT,
                                     HR_DTYPE_INT16};
    int cuts = 0, steps = 0;
    hr_error error = {0};
    for (int round = 0; round < 1500; round++) {
        hr_dtype dtype = types[rnd() % 4];
        coding coded = (coding)(rnd() % CODINGS);
        hr_tensor in = coded != PLAIN
                           ? picture(dtype, between(1, 60), between(1, 60), between(1, 4))
                           : random_tensor(dtype);
        hr_tensor want = in, got;
        step chain[STEPS_MAX];
        int count = build_chain(chain, &in, &want, &error);
        if (count < 0)
            printf("step by step: %s\n", error.message);
        CHECK(count >= 0);
        steps += count;
        for (int l = 0; l < 3 && count > 0; l++) {
            CHECK_OK(run_fused(chain, count, &in, coded, levels[l], &got, &cuts, &error), error);
            if (!same(&want, &got))
                for (int i = 0; i < count; i++)
                    printf("round %d level %d: step %d is of kind %d\n", round, l, i,
                           chain[i].kind);
            CHECK(same(&want, &got));
            free(got.data);
        }
        if (want.data != in.data)
            free(want.data);
        free(in.data);
    }
    CHECK(steps > 3000 && cuts > 500 &&
          cuts < 3 * steps / 2); /* both much fusing and many cuts were seen */
}

/* ---- refusals ---- */

TEST(errors_say_what_is_wrong)
{
    hr_error error;
    hr_tensor in = picture(HR_DTYPE_UINT8, 10, 20, 3);
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
    CHECK(hr_program_crop_outer(&p, 'D', 0, 1, &error) == HR_STATUS_NOT_FUSABLE);
    CHECK_OK(hr_program_resample(&p, &good, &bad, HR_DTYPE_UINT8, &error), error);
    CHECK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error) == HR_STATUS_ERROR);
    free(out.data);
    free(in.data);
}

TEST(no_memory_is_an_error)
{
    hr_error error;
    hr_tensor in = picture(HR_DTYPE_UINT8, 600, 700, 3), out;
    fake_codec codec = {.picture = &in};
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
