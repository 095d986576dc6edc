/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shapes and views. */
#include "core/error.h"
#include "test.h"

TEST(volume)
{
    size_t n = 99;
    hr_shape scalar = hr_shape_make(0, NULL);
    CHECK(hr_shape_volume(&scalar, &n) && n == 1);
    hr_shape image = hr_shape_make(3, (int64_t[]){480, 640, 3});
    CHECK(hr_shape_volume(&image, &n) && n == 921600);
    hr_shape empty = hr_shape_make(3, (int64_t[]){1 << 20, 0, 1 << 20});
    CHECK(hr_shape_volume(&empty, &n) && n == 0);
    hr_shape vast = hr_shape_make(3, (int64_t[]){INT64_MAX, 0, INT64_MAX});
    CHECK(!hr_shape_volume(&vast, &n));
    hr_shape huge = hr_shape_make(2, (int64_t[]){INT64_MAX, 3});
    CHECK(!hr_shape_volume(&huge, &n));
    hr_shape negative = hr_shape_make(2, (int64_t[]){0, -1});
    CHECK(!hr_shape_volume(&negative, &n));
    hr_shape bad = {.ndim = HR_MAX_NDIM + 1};
    CHECK(!hr_shape_volume(&bad, &n));
}

TEST(equality)
{
    hr_shape a = hr_shape_make(2, (int64_t[]){4, 5}), b = hr_shape_make(2, (int64_t[]){4, 6});
    hr_shape c = hr_shape_make(3, (int64_t[]){4, 5, 1}), d = a;
    d.extent[5] = 77; /* ignored, because it is beyond ndim */
    CHECK(hr_shape_equal(&a, &a) && hr_shape_equal(&a, &d));
    CHECK(!hr_shape_equal(&a, &b) && !hr_shape_equal(&a, &c));
}

TEST(text)
{
    char text[64];
    hr_shape image = hr_shape_make(3, (int64_t[]){480, 640, 3});
    CHECK(strcmp(hr_shape_text(&image, text, sizeof text), "480x640x3") == 0);
    CHECK(strcmp(hr_shape_text(&image, text, 6), "480x6") == 0);
    CHECK(strcmp(hr_shape_text(&image, text, 1), "") == 0);
    hr_shape scalar = hr_shape_make(0, NULL);
    CHECK(strcmp(hr_shape_text(&scalar, text, sizeof text), "") == 0);
}

TEST(bytes)
{
    size_t n = 0;
    hr_tensor t;
    memset(&t, 0xff, sizeof t);
    hr_tensor_describe(&t, HR_DTYPE_FLOAT, hr_shape_make(3, (int64_t[]){2, 3, 4}), "HWC");
    CHECK(hr_tensor_bytes(&t, &n) && n == 96);
    CHECK(!t.data && !t.buffer && !t.source_info && strcmp(t.layout.name, "HWC") == 0);
    hr_tensor_describe(&t, HR_DTYPE_INT64, hr_shape_make(1, (int64_t[]){INT64_MAX / 2}), NULL);
    CHECK(!hr_tensor_bytes(&t, &n) && t.layout.name[0] == '\0');
    hr_tensor_describe(&t, HR_DTYPE_UINT8, hr_shape_make(0, NULL), "ABCDEFGHIJK");
    CHECK(strlen(t.layout.name) == HR_MAX_NDIM);
    CHECK(hr_tensor_bytes(&t, &n) && n == 1);
}

TEST_MAIN
