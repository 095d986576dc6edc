/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conversion between floating-point numbers and their bits. */
#pragma once

#include "core/shared.h"

#include <stdint.h>
#include <string.h>

HR_SHARED uint32_t bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HR_SHARED float bits_as_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

HR_SHARED uint64_t bits_of_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HR_SHARED double bits_as_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
