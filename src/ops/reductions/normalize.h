/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What normalize's infer leaves for the run, here or on a device. */
#ifndef HR_OPS_REDUCTIONS_NORMALIZE_H
#define HR_OPS_REDUCTIONS_NORMALIZE_H

#include <math.h>

#include "ops/reductions/reduce.h"

typedef struct hr_normalization {
    hr_reduce_shape shape;
    /* Of each group of elements that are normalised together: those that are given, else NULL. */
    const float *mean, *factor;
    double epsilon, scale, ddof;
    float shift;
    bool batch; /* all samples' elements are one group */
} hr_normalization;

/* What to multiply with, from the squared distances of `count` elements. */
HR_SHARED float normalization_factor(const hr_normalization *m, double squares, double count)
{
    const double by = count - m->ddof;
    double factor = 0.0; /* of what does not vary */

    if (by > 0.0) {
        double variance = squares / by + m->epsilon;
        factor = variance != 0.0 ? 1.0 / sqrt(variance) : 0.0;
    }
    return (float)(factor * m->scale);
}

#endif
