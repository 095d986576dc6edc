/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Normally distributed numbers, one of each uniform one, so that draws keep their numbers. */
#ifndef HR_OPS_RANDOM_GAUSS_H
#define HR_OPS_RANDOM_GAUSS_H

/* The inverse of the normal distribution function, 0 < u < 1: algorithm AS 241 (Wichura 1988),
 * relative error 1e-15. */
double hr__gauss_of(double u);

#endif
