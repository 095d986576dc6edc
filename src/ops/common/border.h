/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DALI's names of what is outside an image. */
#pragma once

#include "core/core.h"
#include "kernels/border.h"
#include "ops/common/word.h"

/* Whether there is a border of that name, in upper or lower case. */
static inline bool hr__border_named(const char *name, hr_border *border)
{
    static const struct {
        const char *name;
        hr_border border;
    } known[] = {{"pad", HR_BORDER_CONSTANT},
                 {"constant", HR_BORDER_CONSTANT},
                 {"const", HR_BORDER_CONSTANT},
                 {"fill", HR_BORDER_CONSTANT},
                 {"clamp", HR_BORDER_CLAMP},
                 {"edge", HR_BORDER_CLAMP},
                 {"reflect", HR_BORDER_REFLECT_1001},
                 {"reflect_1001", HR_BORDER_REFLECT_1001},
                 {"reflect1001", HR_BORDER_REFLECT_1001},
                 {"1001", HR_BORDER_REFLECT_1001},
                 {"reflect_101", HR_BORDER_REFLECT_101},
                 {"reflect101", HR_BORDER_REFLECT_101},
                 {"101", HR_BORDER_REFLECT_101},
                 {"wrap", HR_BORDER_WRAP}};

    for (size_t i = 0; i < HR_COUNT_OF(known); i++) {
        if (hr__same_word(name, known[i].name)) {
            *border = known[i].border;
            return true;
        }
    }
    return false;
}
