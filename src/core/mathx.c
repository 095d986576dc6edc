/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions. */
#include "core/mathx.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("-ffp-contract=off")
#endif
#include "core/mathx_inline.h"

double hr_exp(double x)
{
    return mathx_exp(x);
}

double hr_log(double x)
{
    return mathx_log(x);
}

double hr_sin(double x)
{
    return mathx_sin(x);
}

double hr_cos(double x)
{
    return mathx_cos(x);
}

double hr_sinc(double x)
{
    return mathx_sinc(x);
}

double hr_round(double x)
{
    return mathx_round(x);
}

double hr_pow(double x, double y)
{
    return mathx_pow(x, y);
}
