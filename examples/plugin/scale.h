/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What both versions of example.scale share: the same operations give the same bytes. */
#ifndef SCALE_H
#define SCALE_H

#include "headrace/operator.h"

#if defined(__CUDACC__)
#define SHARED static inline __host__ __device__
#else
#define SHARED static inline
#endif

typedef struct scale_args {
    float factor, addend;
} scale_args;

SHARED float scale_of(scale_args args, float v)
{
    return v * args.factor + args.addend;
}

#ifdef __cplusplus
extern "C"
#endif
    hr_status
    scale_run_cuda(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                   hr_error *error);

#endif
