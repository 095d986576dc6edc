/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Element types. The reference converts one value at a time through long double, which represents
 * every value of every type; half precision is computed by scaling. */
#include "core/dtype.h"
#include "test.h"
#include "xorshift.h"

#include <math.h>
#include <stdlib.h>

/* ---- reference ---- */

static long double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31;
    long double m = h & 0x3ff, v;
    if (exponent == 31)
        v = m != 0 ? NAN : INFINITY;
    else
        v = exponent == 0 ? ldexpl(m, -24) : ldexpl(m + 1024, exponent - 25);
    return h >> 15 ? -v : v;
}

static uint16_t half_nearest(long double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    long double a = fabsl(v);
    int exponent;
    if (isnan(v))
        return 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    frexpl(a, &exponent);
    int last = a < ldexpl(1, -14) ? -24 : exponent - 11;
    long double units = rintl(ldexpl(a, -last)); /* ties to even */
    /* units * 2^last; the fields are added so that a carry reaches the exponent */
    return (uint16_t)(sign + (last == -24 && a < ldexpl(1, -14)
                                  ? (unsigned)units
                                  : ((unsigned)(exponent + 14) << 10) + (unsigned)units - 1024));
}

static long double load(const void *data, hr_dtype type)
{
    switch (type) {
    case HR_DTYPE_UINT8:
        return *(const uint8_t *)data;
    case HR_DTYPE_UINT16:
        return *(const uint16_t *)data;
    case HR_DTYPE_UINT32:
        return *(const uint32_t *)data;
    case HR_DTYPE_UINT64:
        return *(const uint64_t *)data;
    case HR_DTYPE_INT8:
        return *(const int8_t *)data;
    case HR_DTYPE_INT16:
        return *(const int16_t *)data;
    case HR_DTYPE_INT32:
        return *(const int32_t *)data;
    case HR_DTYPE_INT64:
        return *(const int64_t *)data;
    case HR_DTYPE_FLOAT16:
        return half_value(*(const uint16_t *)data);
    case HR_DTYPE_FLOAT:
        return *(const float *)data;
    case HR_DTYPE_FLOAT64:
        return *(const double *)data;
    default:
        return *(const uint8_t *)data != 0;
    }
}

static void store_float(void *data, hr_dtype type, long double v)
{
    if (type == HR_DTYPE_FLOAT16)
        *(uint16_t *)data = half_nearest(v);
    else if (type == HR_DTYPE_FLOAT)
        *(float *)data = (float)v;
    else
        *(double *)data = (double)v;
}

static void store_integer(void *data, hr_dtype type, long double v)
{
    static const long double lowest[8] = {0, 0, 0, 0, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};
    static const long double highest[8] = {UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX,
                                           INT8_MAX,  INT16_MAX,  INT32_MAX,  INT64_MAX};
    v = isnan(v) ? 0 : fminl(fmaxl(roundl(v), lowest[type]), highest[type]);
    uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
    memcpy(data, &bits, hr_dtype_size(type)); /* little-endian, like all supported machines */
}

static void reference(void *dst, hr_dtype to, const void *src, hr_dtype from)
{
    long double v = load(src, from);
    if (to == HR_DTYPE_BOOL)
        *(uint8_t *)dst = isnan(v) || roundl(v) != 0;
    else if (hr_dtype_is_float(to))
        store_float(dst, to, v);
    else
        store_integer(dst, to, v);
}

static bool same_bits(const void *a, const void *b, hr_dtype type)
{
    if (hr_dtype_is_float(type) && isnan(load(a, type)))
        return isnan(load(b, type));
    return memcmp(a, b, hr_dtype_size(type)) == 0;
}

/* ---- inputs ---- */

static const double edges[] = {0.0,
                               0.25,
                               0.49999997,
                               0.49999999999999994,
                               0.5,
                               0.50000006,
                               1.0,
                               1.4999999,
                               1.5,
                               2.5,
                               100.5,
                               126.5,
                               127.0,
                               127.49999,
                               127.5,
                               128.0,
                               128.5,
                               253.5,
                               254.5,
                               254.49998,
                               255.0,
                               255.49998,
                               255.5,
                               256.0,
                               300.0,
                               2048.5,
                               2049.0,
                               4097.0,
                               32767.0,
                               32767.498,
                               32767.5,
                               32768.0,
                               32768.5,
                               65503.0,
                               65504.0,
                               65519.0,
                               65519.999999999,
                               65520.0,
                               65535.0,
                               65535.496,
                               65535.5,
                               65536.0,
                               8388607.5,
                               8388609.0,
                               16777217.0,
                               2147483646.5,
                               2147483647.0,
                               2147483647.5,
                               2147483648.0,
                               2147483648.5,
                               4294967294.5,
                               4294967295.0,
                               4294967295.5,
                               4294967296.0,
                               9007199254740993.0,
                               0x1p62,
                               0x1.fffffffffffffp62,
                               0x1p63,
                               0x1.0000000000001p63,
                               0x1.fffffffffffffp63,
                               0x1p64,
                               0x1p65,
                               1e300,
                               3.5e38,
                               1e-300,
                               1e-45,
                               0x1p-24,
                               0x1p-25,
                               0x1.8p-25,
                               0x1.0000000000001p-25,
                               0x1.002p0,
                               0x1.0020000000001p0,
                               0x1.006p0,
                               0x1.0060000000001p0,
                               0x1.ffcp-15,
                               0x1.ffep-15,
                               0x1p-14,
                               INFINITY,
                               NAN};

#define RANDOM_COUNT 300
#define INPUT_COUNT (2 * HR_COUNT_OF(edges) + RANDOM_COUNT)

/* Values of the type: edges of both signs where they fit, then random ones over all magnitudes. */
static size_t make_inputs(void *data, hr_dtype type)
{
    size_t size = hr_dtype_size(type), n = 0;
    for (size_t i = 0; i < 2 * HR_COUNT_OF(edges); i++) {
        long double v = i % 2 ? -edges[i / 2] : edges[i / 2];
        void *to = (char *)data + n++ * size;
        if (hr_dtype_is_float(type))
            store_float(to, type, v);
        else if (type == HR_DTYPE_BOOL)
            *(uint8_t *)to = (uint8_t)(i % 3);
        else
            store_integer(to, type, v);
    }
    for (int i = 0; i < RANDOM_COUNT; i++) {
        uint64_t bits = random_bits() >> random_bits() % 64;
        bits = random_bits() % 2 ? ~bits : bits;
        double v = (double)(int64_t)bits / (double)(1u << random_bits() % 20);
        if (type == HR_DTYPE_FLOAT || type == HR_DTYPE_FLOAT64)
            store_float((char *)data + n++ * size, type, v);
        else
            memcpy((char *)data + n++ * size, &bits, size);
    }
    return n;
}

TEST(every_pair_against_the_reference)
{
    static _Alignas(64) char src[INPUT_COUNT * 8], dst[INPUT_COUNT * 8 + 8];
    for (int from = 0; from < HR_DTYPE_COUNT; from++) {
        size_t n = make_inputs(src, (hr_dtype)from), in = hr_dtype_size((hr_dtype)from);
        for (int to = 0; to < HR_DTYPE_COUNT; to++) {
            size_t out = hr_dtype_size((hr_dtype)to);
            memset(dst, 0x55, sizeof dst);
            hr_convert(dst, (hr_dtype)to, src, (hr_dtype)from, n);
            for (size_t i = 0; i < n; i++) {
                char want[8] = {0};
                if (to == from && to != HR_DTYPE_BOOL)
                    memcpy(want, src + i * in, in);
                else
                    reference(want, (hr_dtype)to, src + i * in, (hr_dtype)from);
                if (!same_bits(want, dst + i * out, (hr_dtype)to))
                    printf("%s to %s: %La gives %La\n", hr_dtype_name((hr_dtype)from),
                           hr_dtype_name((hr_dtype)to), load(src + i * in, (hr_dtype)from),
                           load(dst + i * out, (hr_dtype)to));
                CHECK(same_bits(want, dst + i * out, (hr_dtype)to));
            }
            for (size_t i = n * out; i < n * out + 8; i++)
                CHECK(dst[i] == 0x55);
        }
    }
}

TEST(rules_of_cast)
{
    const float in[] = {-1, -0.5f, 0.49999997f, 0.5f, 1.5f, 2.5f, 254.5f, 300, NAN, -INFINITY};
    const uint8_t u8[] = {0, 0, 0, 1, 2, 3, 255, 255, 0, 0};
    const int8_t i8[] = {-1, -1, 0, 1, 2, 3, 127, 127, 0, -128};
    const uint8_t flags[] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 1};
    uint8_t got[10];
    hr_convert(got, HR_DTYPE_UINT8, in, HR_DTYPE_FLOAT, 10);
    CHECK(memcmp(got, u8, 10) == 0);
    hr_convert(got, HR_DTYPE_INT8, in, HR_DTYPE_FLOAT, 10);
    CHECK(memcmp(got, i8, 10) == 0);
    hr_convert(got, HR_DTYPE_BOOL, in, HR_DTYPE_FLOAT, 10);
    CHECK(memcmp(got, flags, 10) == 0);
    for (int i = 0; i < 10; i++)
        CHECK(hr_round_u8(in[i]) == u8[i]);
    const double nan = NAN;
    int64_t i64 = 1;
    uint64_t u64 = 1;
    hr_convert(&i64, HR_DTYPE_INT64, &nan, HR_DTYPE_FLOAT64, 1);
    hr_convert(&u64, HR_DTYPE_UINT64, &nan, HR_DTYPE_FLOAT64, 1);
    CHECK(i64 == 0 && u64 == 0);
}

TEST(in_place_and_nothing)
{
    float data[5] = {1.5f, -2.5f, NAN, 3e9f, -3e9f};
    const int32_t want[5] = {2, -3, 0, INT32_MAX, INT32_MIN};
    hr_convert(data, HR_DTYPE_INT32, data, HR_DTYPE_FLOAT, 5);
    CHECK(memcmp(data, want, sizeof want) == 0);
    hr_convert(data, HR_DTYPE_INT32, data, HR_DTYPE_INT32, 5);
    hr_convert(NULL, HR_DTYPE_INT32, NULL, HR_DTYPE_FLOAT, 0);
    hr_convert(data, HR_DTYPE_NONE, want, HR_DTYPE_INT32, 5);
    CHECK(memcmp(data, want, sizeof want) == 0);
}

TEST(halves)
{
    for (unsigned h = 0; h < 65536; h++) {
        float v = hr_half_to_float((uint16_t)h);
        long double want = half_value((uint16_t)h);
        if (isnan(want)) {
            CHECK(isnan(v) && isnan(hr_half_to_float(hr_half_from_float(v))));
        } else {
            CHECK(v == want && !signbit(v) == !signbit(want) && hr_half_from_float(v) == h);
        }
    }
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)random_bits();
        if (i % 2) /* near the range of halves */
            bits = (bits & 0x8fffffff) | 0x30000000;
        float v;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v))
            continue;
        CHECK(hr_half_from_float(v) == half_nearest(v));
    }
}

TEST(facts)
{
    static const char *const names[] = {"UINT8", "UINT16", "UINT32",  "UINT64", "INT8",    "INT16",
                                        "INT32", "INT64",  "FLOAT16", "FLOAT",  "FLOAT64", "BOOL"};
    static const size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 1};
    for (int i = 0; i < HR_DTYPE_COUNT; i++) {
        hr_dtype type = (hr_dtype)i;
        CHECK(hr_dtype_size(type) == sizes[i] && strcmp(hr_dtype_name(type), names[i]) == 0);
        CHECK(hr_dtype_is_integer(type) == (i < 8));
        CHECK(hr_dtype_is_float(type) == (i >= 8 && i < 11));
        CHECK(hr_dtype_is_signed(type) == (i >= 4 && i < 11));
    }
    CHECK(hr_dtype_size(HR_DTYPE_NONE) == 0 && hr_dtype_size((hr_dtype)99) == 0);
    CHECK(hr_dtype_min(HR_DTYPE_INT16) == -32768 && hr_dtype_max(HR_DTYPE_UINT8) == 255);
    CHECK(hr_dtype_max(HR_DTYPE_FLOAT) == INFINITY && hr_dtype_min(HR_DTYPE_FLOAT16) == -INFINITY);
}

TEST(enumerations)
{
    static const char *const names[] = {"IMAGE_TYPE", "DATA_TYPE", "INTERP_TYPE"};
    for (int i = 0; i < 3; i++) {
        hr_dtype type = (hr_dtype)(HR_DTYPE_IMAGE_TYPE + i);
        bool negative = type == HR_DTYPE_DATA_TYPE;
        const int32_t members[] = {3, 0, 300}, numbers[] = {7, -1};
        uint8_t bytes[3];
        int32_t back[3];
        CHECK(hr_dtype_size(type) == 4 && strcmp(hr_dtype_name(type), names[i]) == 0);
        CHECK(hr_dtype_is_enum(type));
        CHECK(hr_dtype_number(type) == (negative ? HR_DTYPE_INT32 : HR_DTYPE_UINT32));
        CHECK(!hr_dtype_is_integer(type) && !hr_dtype_is_float(type));
        hr_convert(bytes, HR_DTYPE_UINT8, members, type, 3);
        CHECK(bytes[0] == 3 && bytes[1] == 0 && bytes[2] == 255);
        hr_convert(back, type, bytes, HR_DTYPE_UINT8, 3);
        CHECK(back[0] == 3 && back[2] == 255);
        hr_convert(back, type, numbers, HR_DTYPE_INT32, 2);
        CHECK(back[0] == 7 && hr_element_int(back, type, 1) == (negative ? -1 : 0));
    }
    CHECK(!hr_dtype_is_enum(HR_DTYPE_BOOL) && hr_dtype_number(HR_DTYPE_BOOL) == HR_DTYPE_BOOL);
    CHECK(!hr_dtype_is_enum((hr_dtype)23) && hr_dtype_size((hr_dtype)19) == 0);
    CHECK(strcmp(hr_dtype_dali_name(HR_DTYPE_FLOAT64), "double") == 0);
    CHECK(strcmp(hr_dtype_dali_name(HR_DTYPE_DATA_TYPE), "DALIDataType") == 0);
}

TEST(single_elements)
{
    const float floats[] = {1.9f, -1.9f, NAN, 1e30f, -1e30f};
    const int64_t want[] = {1, -1, 0, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 5; i++)
        CHECK(hr_element_int(floats, HR_DTYPE_FLOAT, i) == want[i]);
    const int16_t shorts[] = {5, -7};
    CHECK(hr_element_int(shorts, HR_DTYPE_INT16, 1) == -7);
    CHECK(hr_element_double(shorts, HR_DTYPE_INT16, 1) == -7.0);
    CHECK(hr_element_double(floats, HR_DTYPE_FLOAT, 0) == (double)1.9f);
    const uint8_t flag = 9;
    CHECK(hr_element_int(&flag, HR_DTYPE_BOOL, 0) == 1);
    const uint64_t big = UINT64_MAX;
    CHECK(hr_element_int(&big, HR_DTYPE_UINT64, 0) == INT64_MAX);
}

TEST_MAIN
