/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Selects the kernels for a CPU level. */
#include "kernels/level.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
/* __builtin_cpu_supports also checks that the operating system saves the registers. The features
 * that it cannot name (F16C, LZCNT, MOVBE) exist on every CPU that has AVX2, FMA and BMI2. */
static hr_cpu_level best_level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return HR_CPU_LEVEL_BASE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return HR_CPU_LEVEL_V3;
    return HR_CPU_LEVEL_V4;
}

static const hr_kernels *table_of(hr_cpu_level level)
{
    if (level == HR_CPU_LEVEL_V4)
        return &hr__kernels_v4;
    return level == HR_CPU_LEVEL_V3 ? &hr__kernels_v3 : &hr__kernels_base;
}
#else
static hr_cpu_level best_level(void)
{
    return HR_CPU_LEVEL_BASE;
}

static const hr_kernels *table_of(hr_cpu_level level)
{
    (void)level;
    return &hr__kernels_base;
}
#endif

static hr_cpu_level cap_of_environment(void)
{
    const char *cap = getenv("HEADRACE_CPU_LEVEL");
    if (cap == NULL)
        return HR_CPU_LEVEL_V4;
    if (strcmp(cap, "base") == 0)
        return HR_CPU_LEVEL_BASE;
    return strcmp(cap, "v3") == 0 ? HR_CPU_LEVEL_V3 : HR_CPU_LEVEL_V4;
}

const hr_kernels *hr_kernels_get(hr_cpu_level wanted)
{
    hr_cpu_level best = best_level();
    hr_cpu_level level = wanted == HR_CPU_LEVEL_AUTO ? cap_of_environment() : wanted;
    return table_of(level < best ? level : best);
}
