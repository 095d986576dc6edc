/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions that give the same bits everywhere: no libm beyond sqrt and floor, no FMA.
 * Within 2 ulp as doubles on the ranges that images need; floats are computed as doubles. */
#ifndef HR_CORE_MATHX_H
#define HR_CORE_MATHX_H

double hr_exp(double x);
double hr_log(double x);
double hr_sin(double x);
double hr_cos(double x);
double hr_pow(double x, double y);
double hr_sinc(double x);  /* sin(pi x) / (pi x) */
double hr_round(double x); /* half away from zero, as C's round */

#define HR_PI 3.14159265358979323846

#endif
