/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random windows of a given area, as torchvision draws them. */
#include "ops/torchvision/area.h"

#include <math.h>

void hr__area_draw(const hr_area_args *args, const hr_rng *rng, int64_t attempt, double pixels,
                   double *over, double *under)
{
    const float *scale = args->scale.v, *ratio = args->ratio.v;
    uint64_t k = (uint64_t)attempt * 2;
    double low = hr_log((double)ratio[0]), high = hr_log((double)ratio[1]);
    double share = (double)scale[0] + hr_rng_unit(rng, k) * (double)(scale[1] - scale[0]);
    double r = hr_exp(low + hr_rng_unit(rng, k + 1) * (high - low));

    *over = hr_round(sqrt(pixels * share * r));
    *under = hr_round(sqrt(pixels * share / r));
}
