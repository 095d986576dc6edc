// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// One element of any type, in the low bytes of a 64-bit word, and its conversions: hr_convert for
// one thread.
#pragma once

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include "core/rounding.h"
#include "headrace/headrace.h"

// half_of_float with the hardware instruction. Not for NaNs, for which it gives other bits.
HR_SHARED uint16_t half_of_number(float f)
{
#if defined(__CUDA_ARCH__)
    return __half_as_ushort(__float2half_rn(f));
#else
    return half_of_float(f);
#endif
}

// half_of_float with the hardware instruction, except for NaN: the instruction gives the same bits
// for every NaN.
HR_SHARED uint16_t half_of(float f)
{
#if defined(__CUDA_ARCH__)
    return isnan(f) ? half_of_float(f) : __half_as_ushort(__float2half_rn(f));
#else
    return half_of_float(f);
#endif
}

HR_SHARED int value_size(int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
    case HR_DTYPE_INT8:
    case HR_DTYPE_BOOL:
        return 1;
    case HR_DTYPE_UINT16:
    case HR_DTYPE_INT16:
    case HR_DTYPE_FLOAT16:
        return 2;
    case HR_DTYPE_UINT64:
    case HR_DTYPE_INT64:
    case HR_DTYPE_FLOAT64:
        return 8;
    default:
        return 4;
    }
}

HR_SHARED uint64_t value_load(const void *at, int size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at;
    }
}

HR_SHARED void value_store(void *at, int size, uint64_t v)
{
    switch (size) {
    case 1:
        *(uint8_t *)at = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)at = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)at = (uint32_t)v;
        break;
    default:
        *(uint64_t *)at = v;
    }
}

// For BOOL and all integer types except UINT64.
HR_SHARED int64_t value_as_integer(uint64_t v, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_INT8:
        return (int8_t)v;
    case HR_DTYPE_INT16:
        return (int16_t)v;
    case HR_DTYPE_INT32:
        return (int32_t)v;
    case HR_DTYPE_BOOL:
        return (uint8_t)v != 0;
    default:
        return (int64_t)v;
    }
}

HR_SHARED float value_to_float(uint64_t v, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT64:
        return (float)v;
    case HR_DTYPE_FLOAT16:
        return half_read((uint16_t)v);
    case HR_DTYPE_FLOAT:
        return bits_as_f32((uint32_t)v);
    case HR_DTYPE_FLOAT64:
        return (float)bits_as_f64(v);
    case HR_DTYPE_INT64:
        return (float)(int64_t)v;
    case HR_DTYPE_UINT32:
        return (float)(uint32_t)v;
    default:
        return (float)(int32_t)value_as_integer(v, dtype);
    }
}

HR_SHARED double value_to_double(uint64_t v, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT64:
        return (double)v;
    case HR_DTYPE_FLOAT16:
        return (double)half_read((uint16_t)v);
    case HR_DTYPE_FLOAT:
        return (double)bits_as_f32((uint32_t)v);
    case HR_DTYPE_FLOAT64:
        return bits_as_f64(v);
    default:
        return (double)value_as_integer(v, dtype);
    }
}

HR_SHARED uint64_t value_of_double(double f, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return (uint64_t)round_clamp(f, 0, UINT8_MAX);
    case HR_DTYPE_UINT16:
        return (uint64_t)round_clamp(f, 0, UINT16_MAX);
    case HR_DTYPE_INT8:
        return (uint64_t)round_clamp(f, INT8_MIN, INT8_MAX);
    case HR_DTYPE_INT16:
        return (uint64_t)round_clamp(f, INT16_MIN, INT16_MAX);
    case HR_DTYPE_UINT32:
        return (uint64_t)round_clamp(f, 0, UINT32_MAX);
    case HR_DTYPE_INT32:
        return (uint64_t)round_clamp(f, INT32_MIN, INT32_MAX);
    case HR_DTYPE_UINT64:
        return round_clamp_u64(f);
    case HR_DTYPE_INT64:
        return (uint64_t)round_clamp_i64(f);
    case HR_DTYPE_FLOAT16:
        return half_of_double(f);
    case HR_DTYPE_FLOAT:
        return bits_of_f32((float)f);
    case HR_DTYPE_BOOL:
        return !(fabs(f) < 0.5); // NaN is true
    default:
        return bits_of_f64(f);
    }
}

// Computes in float if that is exact (types of up to 16 bits), otherwise in double.
HR_SHARED uint64_t value_of_float(float f, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return (uint64_t)round_clamp_f(f, 0.0f, 255.0f);
    case HR_DTYPE_UINT16:
        return (uint64_t)round_clamp_f(f, 0.0f, 65535.0f);
    case HR_DTYPE_INT8:
        return (uint64_t)round_clamp_f(f, -128.0f, 127.0f);
    case HR_DTYPE_INT16:
        return (uint64_t)round_clamp_f(f, -32768.0f, 32767.0f);
    case HR_DTYPE_FLOAT16:
        return half_of(f);
    case HR_DTYPE_FLOAT:
        return bits_of_f32(f);
    default:
        return value_of_double((double)f, dtype);
    }
}

HR_SHARED uint64_t value_of_integer(int64_t v, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return (uint64_t)clamp_i(v, 0, UINT8_MAX);
    case HR_DTYPE_UINT16:
        return (uint64_t)clamp_i(v, 0, UINT16_MAX);
    case HR_DTYPE_UINT32:
        return (uint64_t)clamp_i(v, 0, UINT32_MAX);
    case HR_DTYPE_UINT64:
        return (uint64_t)clamp_i(v, 0, INT64_MAX);
    case HR_DTYPE_INT8:
        return (uint64_t)clamp_i(v, INT8_MIN, INT8_MAX);
    case HR_DTYPE_INT16:
        return (uint64_t)clamp_i(v, INT16_MIN, INT16_MAX);
    case HR_DTYPE_INT32:
        return (uint64_t)clamp_i(v, INT32_MIN, INT32_MAX);
    case HR_DTYPE_FLOAT16:
        return half_of_number((float)v);
    case HR_DTYPE_FLOAT:
        return bits_of_f32((float)v);
    case HR_DTYPE_FLOAT64:
        return bits_of_f64((double)v);
    case HR_DTYPE_BOOL:
        return v != 0;
    default:
        return (uint64_t)v;
    }
}

HR_SHARED uint64_t value_of_unsigned(uint64_t v, int dtype)
{
    switch (dtype) {
    case HR_DTYPE_UINT64:
        return v;
    case HR_DTYPE_FLOAT16:
        return half_of_number((float)v);
    case HR_DTYPE_FLOAT:
        return bits_of_f32((float)v);
    case HR_DTYPE_FLOAT64:
        return bits_of_f64((double)v);
    case HR_DTYPE_BOOL:
        return v != 0;
    default:
        return value_of_integer((int64_t)clamp_u(v, INT64_MAX), dtype);
    }
}

HR_SHARED uint64_t value_convert(uint64_t v, int from, int to)
{
    if (from == to && from != HR_DTYPE_BOOL)
        return v;
    switch (from) {
    case HR_DTYPE_FLOAT16:
        return value_of_float(half_read((uint16_t)v), to);
    case HR_DTYPE_FLOAT:
        return value_of_float(bits_as_f32((uint32_t)v), to);
    case HR_DTYPE_FLOAT64:
        return value_of_double(bits_as_f64(v), to);
    case HR_DTYPE_UINT64:
        return value_of_unsigned(v, to);
    default:
        return value_of_integer(value_as_integer(v, from), to);
    }
}

HR_SHARED bool value_is_float(int dtype)
{
    return dtype == HR_DTYPE_FLOAT || dtype == HR_DTYPE_FLOAT16 || dtype == HR_DTYPE_FLOAT64;
}

// hr_convert_cut for one thread.
HR_SHARED uint64_t value_cut(uint64_t v, int from, int to)
{
    if (!value_is_float(from) || value_is_float(to))
        return value_convert(v, from, to);
    return value_of_double(cut_off(value_to_double(v, from)), to);
}
