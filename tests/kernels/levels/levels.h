/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* One case of a kernel, which compares the CPU levels with base and, with --bench, times them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/core.h"
#include "kernels/kernels.h"

/* `call` runs member `member` of the table `k` on `n` elements. What it writes to `out` must be the
 * same `size` bytes at all levels (0: it is what only this level reads). */
#define KERNEL(member, what, n, out, size, call)                                                   \
    for (levels_begin(#member, offsetof(hr_kernels, member), what, n); levels_next();) {           \
        const hr_kernels *k = levels_table;                                                        \
        levels_fill(out, size);                                                                    \
        call;                                                                                      \
        levels_compare(out, size);                                                                 \
        while (levels_time())                                                                      \
            for (int levels_call = 0; levels_call < levels_calls; levels_call++)                   \
                call;                                                                              \
    }

enum { LEVELS_BYTES = 1 << 18 };

extern const hr_kernels *levels_table;
extern int levels_calls;
void levels_begin(const char *member, size_t offset, const char *what, size_t n);
bool levels_next(void);
void levels_fill(void *out, size_t size);
void levels_compare(const void *out, size_t size);
bool levels_time(void);
/* What the latest case is about. */
void levels_require(bool condition, const char *otherwise);

/* Random bytes, with as many bytes before and behind them as kernels may read; and memory for
 * results. */
extern uint8_t *const levels_bytes, *const levels_out;
/* `n` random floats; the memory is reused after 8 calls. */
float *levels_floats(size_t n, float low, float high);

void levels_of_images(void);
void levels_of_numbers(void);
void levels_of_codecs(void);
