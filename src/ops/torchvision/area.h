/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random windows of a given area, as torchvision draws them. */
#pragma once

#include "image/program.h"

typedef struct hr_area_args {
    hr_floats scale, ratio;
} hr_area_args;

/* Describes them; the args structs begin with them. */
#define HR_AREA_ARG_DEFS                                                                           \
    HR_ARG(hr_area_args, scale, FLOATS, 0, "[0.08, 1.0]",                                          \
           "Range of the area, as a fraction of that of the image.", .min = 0.0, .max = 1e9,       \
           .count_min = 2, .count_max = 2),                                                        \
        HR_ARG(hr_area_args, ratio, FLOATS, 0, "[0.75, 1.3333333333333333]",                       \
               "Range of one side divided by the other; its logarithm is drawn uniformly.",        \
               .min = 1e-9, .max = 1e9, .count_min = 2, .count_max = 2)

/* One attempt, which takes two draws: sides sqrt(area * ratio) and sqrt(area / ratio), rounded. */
void hr__area_draw(const hr_area_args *args, const hr_rng *rng, int64_t attempt, double pixels,
                   double *over, double *under);
