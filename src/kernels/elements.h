/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conversion of elements between types. */
#pragma once

#include "headrace/operator.h"
#include "kernels/kernels.h"

/* hr_convert, by kernels where there are some. The ranges do not overlap. */
static inline void hr_kernels_convert(const hr_kernels *k, void *dst, hr_dtype to, const void *src,
                                      hr_dtype from, size_t n)
{
    if (from == HR_DTYPE_FLOAT && to == HR_DTYPE_UINT8)
        k->f32_to_u8(dst, src, n);
    else if (from == HR_DTYPE_UINT8 && to == HR_DTYPE_FLOAT)
        k->u8_to_f32(dst, src, n);
    else if (from == HR_DTYPE_INT16 && to == HR_DTYPE_FLOAT)
        k->i16_to_f32(dst, src, n);
    else if (from == HR_DTYPE_UINT16 && to == HR_DTYPE_FLOAT)
        k->u16_to_f32(dst, src, n);
    else
        hr_convert(dst, to, src, from, n);
}
