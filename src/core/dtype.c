/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Element types and conversion. Each of the 144 pairs of types has its own loop. The macros below
 * make them from one function per kind of pair, so that the compiler sees constant bounds and can
 * vectorise. */
#include "core/dtype.h"
#include "core/rounding.h"

#include <math.h>
#include <string.h>

/* ---- facts ---- */

typedef struct dtype_facts {
    const char *name, *dali_name;
    size_t size;
    bool is_float, is_signed, is_integer;
    double min, max;
} dtype_facts;

static const dtype_facts facts[HR_DTYPE_COUNT] = {
    [HR_DTYPE_UINT8] = {"UINT8", "uint8", 1, false, false, true, 0, UINT8_MAX},
    [HR_DTYPE_UINT16] = {"UINT16", "uint16", 2, false, false, true, 0, UINT16_MAX},
    [HR_DTYPE_UINT32] = {"UINT32", "uint32", 4, false, false, true, 0, UINT32_MAX},
    [HR_DTYPE_UINT64] = {"UINT64", "uint64", 8, false, false, true, 0, 0x1p64},
    [HR_DTYPE_INT8] = {"INT8", "int8", 1, false, true, true, INT8_MIN, INT8_MAX},
    [HR_DTYPE_INT16] = {"INT16", "int16", 2, false, true, true, INT16_MIN, INT16_MAX},
    [HR_DTYPE_INT32] = {"INT32", "int32", 4, false, true, true, INT32_MIN, INT32_MAX},
    [HR_DTYPE_INT64] = {"INT64", "int64", 8, false, true, true, -0x1p63, 0x1p63},
    [HR_DTYPE_FLOAT16] = {"FLOAT16", "float16", 2, true, true, false, -INFINITY, INFINITY},
    [HR_DTYPE_FLOAT] = {"FLOAT", "float", 4, true, true, false, -INFINITY, INFINITY},
    [HR_DTYPE_FLOAT64] = {"FLOAT64", "double", 8, true, true, false, -INFINITY, INFINITY},
    [HR_DTYPE_BOOL] = {"BOOL", "bool", 1, false, false, false, 0, 1},
};

static const dtype_facts *facts_of(hr_dtype dtype)
{
    static const dtype_facts none = {"NO_TYPE", "<no_type>", 0, false, false, false, 0, 0};
    static const dtype_facts enums[] = {
        {"IMAGE_TYPE", "DALIImageType", 4, false, false, false, 0, UINT32_MAX},
        {"DATA_TYPE", "DALIDataType", 4, false, false, false, INT32_MIN, INT32_MAX},
        {"INTERP_TYPE", "DALIInterpType", 4, false, false, false, 0, UINT32_MAX},
    };
    if (hr_dtype_is_enum(dtype))
        return &enums[dtype - HR_DTYPE_IMAGE_TYPE];
    return (unsigned)dtype < HR_DTYPE_COUNT ? &facts[dtype] : &none;
}

size_t hr_dtype_size(hr_dtype dtype)
{
    return facts_of(dtype)->size;
}

const char *hr_dtype_name(hr_dtype dtype)
{
    return facts_of(dtype)->name;
}

const char *hr_dtype_dali_name(hr_dtype dtype)
{
    return facts_of(dtype)->dali_name;
}

bool hr_dtype_is_float(hr_dtype dtype)
{
    return facts_of(dtype)->is_float;
}

bool hr_dtype_is_signed(hr_dtype dtype)
{
    return facts_of(dtype)->is_signed;
}

bool hr_dtype_is_integer(hr_dtype dtype)
{
    return facts_of(dtype)->is_integer;
}

double hr_dtype_min(hr_dtype dtype)
{
    return facts_of(dtype)->min;
}

double hr_dtype_max(hr_dtype dtype)
{
    return facts_of(dtype)->max;
}

/* ---- half precision ---- */

float hr_half_to_float(uint16_t half)
{
    return half_read(half);
}

uint16_t hr_half_from_float(float value)
{
    return half_of_float(value);
}

/* ---- single values ---- */

double hr_element_double(const void *data, hr_dtype dtype, size_t i)
{
    double v = 0;
    hr_convert(&v, HR_DTYPE_FLOAT64, (const char *)data + i * hr_dtype_size(dtype), dtype, 1);
    return v;
}

int64_t hr_element_int(const void *data, hr_dtype dtype, size_t i)
{
    const char *at = (const char *)data + i * hr_dtype_size(dtype);
    if (hr_dtype_is_float(dtype)) {
        double v = hr_element_double(data, dtype, i);
        if (v >= 0x1p63)
            return INT64_MAX;
        if (!(v > -0x1p63))
            return v <= -0x1p63 ? INT64_MIN : 0;
        return (int64_t)v;
    }
    int64_t v = 0;
    hr_convert(&v, HR_DTYPE_INT64, at, dtype, 1);
    return v;
}

/* ---- loops ---- */

typedef void (*convert_fn)(void *dst, const void *src, size_t count);

#define LOOP(name, D, S, expression)                                                               \
    static void name(void *dst, const void *src, size_t count)                                     \
    {                                                                                              \
        D *d = dst;                                                                                \
        const S *s = src;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            const S v = s[i];                                                                      \
            d[i] = (D)(expression);                                                                \
        }                                                                                          \
    }

/* `v` is an integer that fits int64_t. */
#define FROM_INTEGER(s, S)                                                                         \
    LOOP(s##_to_u8, uint8_t, S, clamp_i(v, 0, UINT8_MAX))                                          \
    LOOP(s##_to_u16, uint16_t, S, clamp_i(v, 0, UINT16_MAX))                                       \
    LOOP(s##_to_u32, uint32_t, S, clamp_i(v, 0, UINT32_MAX))                                       \
    LOOP(s##_to_u64, uint64_t, S, clamp_i(v, 0, INT64_MAX))                                        \
    LOOP(s##_to_i8, int8_t, S, clamp_i(v, INT8_MIN, INT8_MAX))                                     \
    LOOP(s##_to_i16, int16_t, S, clamp_i(v, INT16_MIN, INT16_MAX))                                 \
    LOOP(s##_to_i32, int32_t, S, clamp_i(v, INT32_MIN, INT32_MAX))                                 \
    LOOP(s##_to_i64, int64_t, S, v)                                                                \
    FROM_ANY(s, S)

#define FROM_ANY(s, S)                                                                             \
    LOOP(s##_to_f16, uint16_t, S, half_of_float((float)v))                                         \
    LOOP(s##_to_f32, float, S, v)                                                                  \
    LOOP(s##_to_f64, double, S, v)                                                                 \
    LOOP(s##_to_bool, uint8_t, S, v != 0)

/* `read` makes a float or double of the stored element v. */
#define FROM_FLOAT(s, S, read, half)                                                               \
    LOOP(s##_to_u8, uint8_t, S, round_clamp(read(v), 0, UINT8_MAX))                                \
    LOOP(s##_to_u16, uint16_t, S, round_clamp(read(v), 0, UINT16_MAX))                             \
    LOOP(s##_to_u32, uint32_t, S, round_clamp(read(v), 0, UINT32_MAX))                             \
    LOOP(s##_to_u64, uint64_t, S, round_clamp_u64(read(v)))                                        \
    LOOP(s##_to_i8, int8_t, S, round_clamp(read(v), INT8_MIN, INT8_MAX))                           \
    LOOP(s##_to_i16, int16_t, S, round_clamp(read(v), INT16_MIN, INT16_MAX))                       \
    LOOP(s##_to_i32, int32_t, S, round_clamp(read(v), INT32_MIN, INT32_MAX))                       \
    LOOP(s##_to_i64, int64_t, S, round_clamp_i64(read(v)))                                         \
    LOOP(s##_to_f16, uint16_t, S, half(v))                                                         \
    LOOP(s##_to_f32, float, S, read(v))                                                            \
    LOOP(s##_to_f64, double, S, read(v))                                                           \
    LOOP(s##_to_bool, uint8_t, S, !(fabs((double)read(v)) < 0.5)) /* NaN is true, as in DALI */

#define SELF(v) (v)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_FLOAT(f16, uint16_t, half_read, SELF)
FROM_FLOAT(f64, double, SELF, half_of_double)
LOOP(u64_to_u8, uint8_t, uint64_t, clamp_u(v, UINT8_MAX))
LOOP(u64_to_u16, uint16_t, uint64_t, clamp_u(v, UINT16_MAX))
LOOP(u64_to_u32, uint32_t, uint64_t, clamp_u(v, UINT32_MAX))
LOOP(u64_to_u64, uint64_t, uint64_t, v)
LOOP(u64_to_i8, int8_t, uint64_t, clamp_u(v, INT8_MAX))
LOOP(u64_to_i16, int16_t, uint64_t, clamp_u(v, INT16_MAX))
LOOP(u64_to_i32, int32_t, uint64_t, clamp_u(v, INT32_MAX))
LOOP(u64_to_i64, int64_t, uint64_t, clamp_u(v, INT64_MAX))
FROM_ANY(u64, uint64_t)
LOOP(f32_to_u8, uint8_t, float, round_clamp_f(v, 0.0f, 255.0f))
LOOP(f32_to_u16, uint16_t, float, round_clamp_f(v, 0.0f, 65535.0f))
LOOP(f32_to_i8, int8_t, float, round_clamp_f(v, -128.0f, 127.0f))
LOOP(f32_to_i16, int16_t, float, round_clamp_f(v, -32768.0f, 32767.0f))
LOOP(f32_to_u32, uint32_t, float, round_clamp(v, 0, UINT32_MAX))
LOOP(f32_to_i32, int32_t, float, round_clamp(v, INT32_MIN, INT32_MAX))
LOOP(f32_to_u64, uint64_t, float, round_clamp_u64(v))
LOOP(f32_to_i64, int64_t, float, round_clamp_i64(v))
LOOP(f32_to_f16, uint16_t, float, half_of_float(v))
LOOP(f32_to_f32, float, float, v)
LOOP(f32_to_f64, double, float, v)
LOOP(f32_to_bool, uint8_t, float, !(fabsf(v) < 0.5f))
/* A BOOL is a byte; any value other than 0 is true. */
LOOP(bool_to_u8, uint8_t, uint8_t, v != 0)
LOOP(bool_to_u16, uint16_t, uint8_t, v != 0)
LOOP(bool_to_u32, uint32_t, uint8_t, v != 0)
LOOP(bool_to_u64, uint64_t, uint8_t, v != 0)
LOOP(bool_to_f16, uint16_t, uint8_t, v != 0 ? 0x3c00 : 0)
LOOP(bool_to_f32, float, uint8_t, v != 0)
LOOP(bool_to_f64, double, uint8_t, v != 0)

/* In the order of hr_dtype; identical conversions share a loop. */
#define ROW(s)                                                                                     \
    {                                                                                              \
        s##_to_u8, s##_to_u16, s##_to_u32, s##_to_u64, s##_to_i8, s##_to_i16, s##_to_i32,          \
            s##_to_i64, s##_to_f16, s##_to_f32, s##_to_f64, s##_to_bool                            \
    }
static const convert_fn loops[HR_DTYPE_COUNT][HR_DTYPE_COUNT] = {
    ROW(u8),
    ROW(u16),
    ROW(u32),
    ROW(u64),
    ROW(i8),
    ROW(i16),
    ROW(i32),
    ROW(i64),
    ROW(f16),
    ROW(f32),
    ROW(f64),
    {bool_to_u8, bool_to_u16, bool_to_u32, bool_to_u64, bool_to_u8, bool_to_u16, bool_to_u32,
     bool_to_u64, bool_to_f16, bool_to_f32, bool_to_f64, bool_to_u8},
};

void hr_convert(void *dst, hr_dtype dst_type, const void *src, hr_dtype src_type, size_t count)
{
    dst_type = hr_dtype_number(dst_type);
    src_type = hr_dtype_number(src_type);
    if ((unsigned)dst_type >= HR_DTYPE_COUNT || (unsigned)src_type >= HR_DTYPE_COUNT || count == 0)
        return;
    if (dst_type == src_type && dst_type != HR_DTYPE_BOOL) {
        if (dst != src)
            memcpy(dst, src, count * hr_dtype_size(dst_type));
        return;
    }
    loops[src_type][dst_type](dst, src, count);
}

void hr_convert_cut(void *dst, hr_dtype dst_type, const void *src, hr_dtype src_type, size_t count)
{
    double part[256];
    if (!hr_dtype_is_float(src_type) || hr_dtype_is_float(dst_type)) {
        hr_convert(dst, dst_type, src, src_type, count);
        return;
    }
    for (size_t i = 0, n; i < count; i += n) {
        n = HR_MIN(count - i, HR_COUNT_OF(part));
        hr_convert(part, HR_DTYPE_FLOAT64, (const char *)src + i * hr_dtype_size(src_type),
                   src_type, n);
        for (size_t k = 0; k < n; k++)
            part[k] = cut_off(part[k]);
        hr_convert((char *)dst + i * hr_dtype_size(dst_type), dst_type, part, HR_DTYPE_FLOAT64, n);
    }
}
