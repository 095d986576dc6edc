/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions against the C library's in long double. A hash pins the last bits. */
#include "core/mathx.h"
#include "test.h"
#include "xorshift.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static double uniform(double low, double high)
{
    return low + (high - low) * ((double)(random_bits() >> 11) * 0x1p-53);
}

static double any_finite(void)
{
    for (;;) {
        uint64_t bits = random_bits();
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            return x;
    }
}

/* Distance in ulps of the expected value. */
static double ulps(double got, long double want)
{
    double near = (double)want;
    if (isnan(got) || isnan(near))
        return isnan(got) && isnan(near) ? 0 : 1e9;
    if (isinf(got) || isinf(near))
        return got == near ? 0 : 1e9;
    double unit = nextafter(fabs(near), INFINITY) - fabs(near);
    return (double)(fabsl(got - want) / unit);
}

#define N 60000
/* Checks N values of `x`. */
#define WITHIN(tolerance, generator, got, want)                                                    \
    do {                                                                                           \
        for (int i_ = 0; i_ < N; i_++) {                                                           \
            double x = (generator);                                                                \
            if (ulps((got), (want)) > (tolerance))                                                 \
                printf("at %a: %a, %La wanted\n", x, (got), (long double)(want));                  \
            CHECK(ulps((got), (want)) <= (tolerance));                                             \
        }                                                                                          \
    } while (0)

TEST(exponential)
{
    WITHIN(1, uniform(-745, 709.7), hr_exp(x), expl(x));
    WITHIN(1, uniform(-1, 1), hr_exp(x), expl(x));
    WITHIN(1, any_finite(), hr_exp(x), expl(x));
}

TEST(logarithm)
{
    WITHIN(1, uniform(0, 3), hr_log(x), logl(x));
    WITHIN(1, uniform(0.999, 1.001), hr_log(x), logl(x));
    WITHIN(1, fabs(any_finite()), hr_log(x), logl(x));
    WITHIN(1, uniform(0, 0x1p-1022), hr_log(x), logl(x)); /* subnormal */
}

TEST(sine_and_cosine)
{
    WITHIN(1, uniform(-10, 10), hr_sin(x), sinl(x));
    WITHIN(1, uniform(-10, 10), hr_cos(x), cosl(x));
    WITHIN(1, uniform(-1e6, 1e6), hr_sin(x), sinl(x));
    WITHIN(1, uniform(-1e6, 1e6), hr_cos(x), cosl(x));
    /* For large arguments, against the C library's functions for double, which are within 1 ulp. */
    WITHIN(2, any_finite(), hr_sin(x), (long double)sin(x));
    WITHIN(2, any_finite(), hr_cos(x), (long double)cos(x));
}

TEST(near_multiples_of_a_quarter_turn)
{
    for (int k = 1; k < 20000; k++) {
        double x = k * (HR_PI / 2);
        CHECK(ulps(hr_sin(x), sin(x)) <= 2 && ulps(hr_cos(x), cos(x)) <= 2);
    }
    /* The double that is closest to a multiple of pi/2. Its cosine was computed with rational
     * arithmetic (glibc 2.36 is 8 ulp off here). */
    CHECK(hr_cos(6381956970095103.0 * 0x1p797) == -0x1.14ae72e6ba22fp-61);
}

TEST(power)
{
    WITHIN(1, uniform(0, 1), hr_pow(x, 1 / 2.4), powl(x, 1 / 2.4));
    WITHIN(1, uniform(0, 20), hr_pow(x, 7.3 - x), powl(x, 7.3 - x));
    WITHIN(1, uniform(0.9, 1.1), hr_pow(x, 6000 * (x - 1)), powl(x, 6000 * (x - 1)));
    for (int i = 0; i < N; i++) {
        double x = fabs(any_finite()), y = uniform(-740, 740) / fabs(log(x));
        CHECK(ulps(hr_pow(x, y), powl(x, y)) <= 1);
    }
    for (int base = -12; base <= 12; base++) {
        long double product = 1;
        for (int n = 0; n < 14; n++, product *= base)
            CHECK(hr_pow(base, n) == product); /* exact below 2^53 */
    }
}

static long double sinc_reference(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    long double n = roundl(x), s = sinl((x - n) * pi);
    return x == 0 ? 1 : (fmodl(n, 2) != 0 ? -s : s) / (x * pi);
}

TEST(cardinal_sine)
{
    WITHIN(2, uniform(-0.5, 0.5), hr_sinc(x), sinc_reference(x));
    WITHIN(2, uniform(-4, 4), hr_sinc(x), sinc_reference(x));
    CHECK(hr_sinc(0) == 1 && hr_sinc(1e-300) == 1);
    for (int i = 1; i < 100; i++)
        CHECK(hr_sinc(i) == 0 && hr_sinc(-i) == 0);
    CHECK(hr_sinc(INFINITY) == 0 && hr_sinc(1e200) == 0 && isnan(hr_sinc(NAN)));
}

TEST(rounding)
{
    for (int i = -4000; i <= 4000; i++)
        CHECK(hr_round(i * 0.25) == round(i * 0.25));
    for (int i = 0; i < N; i++) {
        double x = i % 2 ? any_finite() : uniform(-1e6, 1e6);
        CHECK(hr_round(x) == round(x) && !signbit(hr_round(x)) == !signbit(x));
    }
    CHECK(hr_round(0.49999999999999994) == 0 && hr_round(-2.5) == -3);
    CHECK(hr_round(INFINITY) == INFINITY && isnan(hr_round(NAN)));
}

static bool agree(double got, double want)
{
    if (isnan(want))
        return isnan(got);
    return ulps(got, want) <= 2 && !signbit(got) == !signbit(want);
}

TEST(special_values)
{
    static const double x[] = {0.0,
                               -0.0,
                               1,
                               -1,
                               2,
                               -2,
                               3,
                               -3,
                               0.5,
                               -0.5,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               1e308,
                               -1e308,
                               5e-324,
                               0x1p60,
                               -0x1p60,
                               0x1p53 - 1,
                               1 - 0x1p53,
                               1 + 0x1p-52,
                               1 - 0x1p-53,
                               DBL_MIN,
                               710,
                               -746,
                               709.782712893384,
                               -745.1332191019412};
    const int n = sizeof x / sizeof *x;
    for (int i = 0; i < n; i++) {
        CHECK(agree(hr_exp(x[i]), exp(x[i])));
        CHECK(agree(hr_log(x[i]), log(x[i])));
        CHECK(agree(hr_sin(x[i]), sin(x[i])));
        CHECK(agree(hr_cos(x[i]), cos(x[i])));
        CHECK(agree(hr_round(x[i]), round(x[i])));
        for (int k = 0; k < n; k++)
            CHECK(agree(hr_pow(x[i], x[k]), pow(x[i], x[k])));
    }
}

/* The same bits on every compiler and machine: FNV-1a over the results. */
TEST(bits_are_pinned)
{
    uint64_t hash = 0xcbf29ce484222325u;
    random_state = 1234567;
    for (int i = 0; i < 20000; i++) {
        double x = uniform(-40, 40), y = uniform(0, 40);
        double v[] = {hr_exp(x),        hr_log(y),    hr_sin(x),  hr_cos(x),
                      hr_sin(x * 1e12), hr_pow(y, x), hr_sinc(x), hr_round(x)};
        for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
            uint64_t bits;
            memcpy(&bits, &v[k], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3u;
        }
    }
    if (hash != UINT64_C(0x776f011dfdde8685))
        printf("hash 0x%016llx\n", (unsigned long long)hash);
    CHECK(hash == UINT64_C(0x776f011dfdde8685));
}

TEST_MAIN
