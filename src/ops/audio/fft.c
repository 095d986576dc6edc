/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Signals of an even length n are transformed as n / 2 complex points, others as n points. Passes
 * of radix 4, 2, 3, 5 and other small primes (Stockham's algorithm) transform the points. A length
 * with a large prime factor becomes a convolution of a power of two (Bluestein's algorithm). */
#include "ops/audio/fft.h"

#include <string.h>

/* (re, im) of exp(-2 pi i k / n); k < n. Exact in the axes. */
static void unit_root(float *to, int64_t k, int64_t n)
{
    int64_t quarter = 4 * k / n, rest = 4 * k % n; /* k / n = (quarter + rest / n) / 4 */
    bool swap = 2 * rest > n;                      /* nearer to the next axis */
    double angle = HR_PI / 2 * (double)(swap ? n - rest : rest) / (double)n;
    double c = swap ? hr_sin(angle) : hr_cos(angle), s = swap ? hr_cos(angle) : hr_sin(angle);
    double re = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    double im = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    to[0] = (float)re;
    to[1] = (float)-im;
}

static void unit_roots(float *to, int64_t count, int64_t n)
{
    for (int64_t k = 0; k < count; k++)
        unit_root(to + 2 * k, k % n, n);
}

static int32_t next_radix(int32_t n)
{
    if (n % 4 == 0)
        return 4;
    if (n % 2 == 0)
        return 2;
    for (int32_t p = 3; p <= HR_FFT_MAX_RADIX; p += 2)
        if (n % p == 0)
            return p;
    return 0;
}

static bool is_smooth(int32_t n)
{
    while (n > 1 && next_radix(n) > 0)
        n /= next_radix(n);
    return n == 1;
}

static void find_passes(hr_fft *f)
{
    for (int32_t n = f->size, stride = 1; n > 1; f->count++) {
        int32_t radix = next_radix(n);
        n /= radix;
        f->passes[f->count] = (hr_fft_pass){radix, n, stride, NULL, NULL};
        stride *= radix;
    }
}

/* The next `numbers` complex numbers of the tables. Without tables, it only counts them. */
static float *take(hr_fft *f, size_t numbers)
{
    float *at = f->tables ? f->tables + f->floats : NULL;
    f->floats += 2 * numbers;
    return at;
}

static void make_pass(hr_fft *f, hr_fft_pass *p)
{
    float *twiddles = take(f, (size_t)p->span * (size_t)(p->radix - 1));
    float *roots = take(f, (size_t)p->radix), *to = twiddles;
    p->twiddles = twiddles;
    p->roots = roots;
    if (!f->tables)
        return;
    for (int64_t q = 0; q < p->span; q++)
        for (int64_t k = 1; k < p->radix; k++, to += 2)
            unit_root(to, q * k, (int64_t)p->radix * p->span);
    unit_roots(roots, p->radix, p->radix);
}

/* Transforms the points at `data`; returns where the result is: `data` or `other`. */
static float *transform(const hr_fft *f, const hr_kernels *k, float *data, float *other)
{
    for (int32_t i = 0; i < f->count; i++) {
        k->fft_pass(other, data, &f->passes[i]);
        float *swap = data;
        data = other;
        other = swap;
    }
    return data;
}

/* The kernel of the convolution is the transform of the conjugate chirp, which is computed by the
 * transform itself, in the first of its lanes. */
static hr_status make_bluestein(hr_fft *f, hr_error *error)
{
    const int64_t n = f->points, size = f->size;
    float *chirp = take(f, (size_t)n), *kernel = take(f, (size_t)size);
    f->chirp = chirp;
    f->kernel = kernel;
    if (!f->tables)
        return HR_STATUS_OK;
    const size_t floats = (size_t)size * HR_FFT_POINT;
    float *work = hr_calloc(2 * floats, sizeof(*work), error);
    HR_TRY_ALLOC(work);
    for (int64_t i = 0; i < n; i++) {
        unit_root(chirp + 2 * i, i * i % (2 * n), 2 * n);
        for (int64_t at = i; at<size; at += i> 0 && at == i ? size - 2 * i : size) {
            work[at * HR_FFT_POINT] = chirp[2 * i];
            work[at * HR_FFT_POINT + HR_FFT_LANES] = -chirp[2 * i + 1];
        }
    }
    const float *at = transform(f, hr_kernels_get(HR_CPU_LEVEL_BASE), work, work + floats);
    for (int64_t i = 0; i < size; i++) {
        kernel[2 * i] = at[i * HR_FFT_POINT] / (float)size;
        kernel[2 * i + 1] = at[i * HR_FFT_POINT + HR_FFT_LANES] / (float)size;
    }
    hr_free(work);
    return HR_STATUS_OK;
}

/* Fills the tables; the first time, when there are none, it finds out how large they are. */
static hr_status make_tables(hr_fft *f, hr_error *error)
{
    f->floats = 0;
    for (int32_t i = 0; i < f->count; i++)
        make_pass(f, &f->passes[i]);
    if (f->n % 2 == 0) {
        float *turns = take(f, (size_t)f->n / 2 + 1);
        if (f->tables)
            unit_roots(turns, f->n / 2 + 1, f->n);
        f->turns = turns;
    }
    return f->size != f->points ? make_bluestein(f, error) : HR_STATUS_OK;
}

static hr_status fft_init(hr_fft *f, int32_t n, hr_error *error)
{
    f->n = n;
    f->points = n % 2 == 0 ? n / 2 : n;
    f->size = f->points;
    if (!is_smooth(f->points))
        for (f->size = 1; f->size < 2 * f->points - 1;)
            f->size *= 2;
    find_passes(f);
    HR_TRY(make_tables(f, error));
    f->tables = hr_calloc(f->floats + 1, sizeof(*f->tables), error);
    return f->tables ? make_tables(f, error) : HR_STATUS_NO_MEMORY;
}

void hr__fft_destroy(hr_fft *f)
{
    if (!f)
        return;
    hr_free(f->tables);
    hr_free(f);
}

hr_status hr__fft_create(hr_fft **out, int32_t n, hr_error *error)
{
    *out = NULL;
    if (n < 1 || n > HR_FFT_MAX_SIZE)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a Fourier transform has 1 .. %d samples, but %d are asked for",
                       HR_FFT_MAX_SIZE, n);
    hr_fft *f = hr_calloc(1, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    hr_status status = fft_init(f, n, error);
    if (status != HR_STATUS_OK)
        hr__fft_destroy(f);
    else
        *out = f;
    return status;
}

size_t hr__fft_scratch(const hr_fft *f)
{
    return 2 * (size_t)f->size * HR_FFT_POINT;
}

/* As points whose samples are the real parts, and the imaginary parts too if n is even. */
static void load(const hr_fft *f, const hr_kernels *k, const float *const *signals,
                 const float *window, int32_t first, int32_t count, float *data)
{
    const size_t row = f->n % 2 == 0 ? HR_FFT_LANES : HR_FFT_POINT;
    if (row == HR_FFT_POINT) {
        memset(data, 0, (size_t)f->points * HR_FFT_POINT * sizeof(*data));
    } else {
        size_t end = (size_t)(first + count) * row;
        memset(data, 0, (size_t)first * row * sizeof(*data));
        memset(data + end, 0, ((size_t)f->n * row - end) * sizeof(*data));
    }
    k->fft_load(data + (size_t)first * row, row, signals, window, (size_t)count);
}

static float *bluestein_run(const hr_fft *f, const hr_kernels *k, float *data, float *other)
{
    const size_t n = (size_t)f->points, size = (size_t)f->size;
    k->fft_multiply(other, data, f->chirp, n, false);
    memset(other + n * HR_FFT_POINT, 0, (size - n) * HR_FFT_POINT * sizeof(*other));
    float *spectrum = transform(f, k, other, data);
    float *free_one = spectrum == data ? other : data;
    /* the inverse transform is the conjugate of the transform of the conjugate */
    k->fft_multiply(free_one, spectrum, f->kernel, size, true);
    float *sum = transform(f, k, free_one, spectrum);
    float *result = sum == data ? other : data;
    for (size_t i = 0; i < n; i++)
        for (int32_t l = 0; l < HR_FFT_LANES; l++)
            sum[i * HR_FFT_POINT + HR_FFT_LANES + (size_t)l] *= -1.0f;
    k->fft_multiply(result, sum, f->chirp, n, false);
    return result;
}

void hr__fft_norms(const hr_fft *f, const hr_kernels *k, const float *const *signals,
                   const float *window, int32_t first, int32_t count, hr_fft_result result,
                   float *scratch, float *norms)
{
    float *other = scratch + (size_t)f->size * HR_FFT_POINT;
    load(f, k, signals, window, first, count, scratch);
    float *at = f->chirp ? bluestein_run(f, k, scratch, other) : transform(f, k, scratch, other);
    if (f->n % 2 == 0)
        k->fft_real_norms(norms, at, f->turns, (size_t)f->points, result);
    else
        k->fft_norms(norms, at, (size_t)f->n / 2 + 1, result);
}
