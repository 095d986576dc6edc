/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions in headers that run on the CPU and the GPU: the same operations in the same order give
 * the same bytes. */
#pragma once

#if defined(__CUDACC__)
#define HR_SHARED static inline __host__ __device__
#else
#define HR_SHARED static inline
#endif
