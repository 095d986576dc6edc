/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random operators: their outputs are pure functions of sample and draw. Also ranges, and the early
 * exits of random windows. */
#include "ops/image/random_window.h"
#include "op_help.h"

#include <math.h>
#include <stdlib.h>

static hr_tensor out;

TEST(uniform_is_a_function_of_the_sample)
{
    const hr_arg_value args[] = {ARG_INTS("shape", 1, 1001), ARG_FLOATS("range", 2, 2, 5)};
    static float first[1001];
    double sum = 0.0;
    CHECK_OK(invoke("random.uniform", args, COUNT(args), NULL, 0, 4, &out), error);
    memcpy(first, out.data, sizeof(first));
    for (int i = 0; i < 1001; i++) {
        CHECK(first[i] >= 2.0f && first[i] < 5.0f);
        sum += (double)first[i];
    }
    CHECK(fabs(sum / 1001 - 3.5) < 0.1);
    CHECK_OK(invoke("random.uniform", args, COUNT(args), NULL, 0, 5, &out), error);
    CHECK(memcmp(first, out.data, sizeof(first)) != 0);
    CHECK_OK(invoke("random.uniform", args, COUNT(args), NULL, 0, 4, &out), error);
    CHECK(memcmp(first, out.data, sizeof(first)) == 0);
    /* A shorter output has the same first elements, because draws are numbered by element. */
    const hr_arg_value few[] = {ARG_INTS("shape", 1, 7), ARG_FLOATS("range", 2, 2, 5)};
    CHECK_OK(invoke("random.uniform", few, COUNT(few), NULL, 0, 4, &out), error);
    CHECK(memcmp(first, out.data, 7 * sizeof(float)) == 0);
}

/* Integers are rounded draws of [0, 3), so the ends occur half as often. */
TEST(uniform_integers)
{
    const hr_arg_value args[] = {ARG_INTS("shape", 1, 60000), ARG_FLOATS("range", 2, 0, 3),
                                 ARG_INT("dtype", HR_DTYPE_INT32)};
    int count[4] = {0};
    CHECK_OK(invoke("random.uniform", args, COUNT(args), NULL, 0, 0, &out), error);
    for (int i = 0; i < 60000; i++) {
        int32_t v = ((int32_t *)out.data)[i];
        CHECK(v >= 0 && v <= 3);
        count[v]++;
    }
    const int expected[] = {10000, 20000, 20000, 10000};
    for (int i = 0; i < 4; i++)
        CHECK(abs(count[i] - expected[i]) < 600);
}

TEST(coin_flip)
{
    const hr_arg_value args[] = {ARG_INTS("shape", 1, 40000), ARG_FLOAT("probability", 0.25)};
    int ones = 0;
    CHECK_OK(invoke("random.coin_flip", args, COUNT(args), NULL, 0, 0, &out), error);
    for (int i = 0; i < 40000; i++)
        ones += ((int32_t *)out.data)[i];
    CHECK(abs(ones - 10000) < 400);
    const hr_arg_value sure[] = {ARG_INTS("shape", 1, 4000), ARG_FLOAT("probability", 1.0)};
    CHECK_OK(invoke("random.coin_flip", sure, COUNT(sure), NULL, 0, 0, &out), error);
    for (int i = 0; i < 4000; i++)
        CHECK(((int32_t *)out.data)[i] == 1);
}

static hr_status window_of(const float *area, const float *ratio, int32_t attempts, int64_t sample,
                           int64_t h, int64_t w, hr_window *window)
{
    const hr_random_window_args args = {{area, 2}, {ratio, 2}, attempts};
    hr_rng rng = hr_rng_make(1, sample, 0, 0);
    return hr__random_window(&args, &rng, h, w, window, &error);
}

TEST(windows_obey_the_ranges)
{
    const float area[] = {0.2f, 0.6f}, ratio[] = {0.75f, 1.5f};
    hr_window window;
    bool left = false, right = false;
    for (int64_t i = 0; i < 2000; i++) {
        CHECK_OK(window_of(area, ratio, 100, i, 300, 500, &window), error);
        double a = (double)(window.h * window.w) / 150000.0;
        double q = (double)window.w / (double)window.h;
        CHECK(a > 0.195 && a < 0.605 && q >= 0.75 && q <= 1.5);
        CHECK(window.y >= 0 && window.x >= 0);
        CHECK(window.y + window.h <= 300 && window.x + window.w <= 500);
        left |= window.x < 5;
        right |= window.x + window.w > 495;
    }
    CHECK(left && right);
}

TEST(windows_that_cannot_be)
{
    const float area[] = {0.5f, 1.0f}, ratio[] = {0.75f, 1.25f};
    hr_window window;
    /* 100 x 1000: the widest legal window, 100 x 125, has too little area. */
    CHECK_OK(window_of(area, ratio, 10, 0, 100, 1000, &window), error);
    CHECK(window.h == 100 && window.w == 125);
    CHECK_OK(window_of(area, ratio, 10, 0, 1000, 90, &window), error);
    CHECK(window.h == 120 && window.w == 90);
    /* One pixel is a valid image. */
    CHECK_OK(window_of(area, ratio, 10, 0, 1, 1, &window), error);
    CHECK(window.h == 1 && window.w == 1 && window.y == 0 && window.x == 0);
    const float upside[] = {1.0f, 0.5f}, none[] = {0.0f, 0.5f};
    CHECK(window_of(upside, ratio, 10, 0, 9, 9, &window) == HR_STATUS_ERROR);
    CHECK(window_of(none, ratio, 10, 0, 9, 9, &window) == HR_STATUS_ERROR);
    CHECK(window_of(area, upside, 10, 0, 9, 9, &window) == HR_STATUS_ERROR);
}

TEST_MAIN
