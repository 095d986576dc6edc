/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The monotonic clock, and waits until it reaches a time. Modules use it, too, so it is all here.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define HR_NS_PER_MS INT64_C(1000000)
#define HR_NS_PER_S INT64_C(1000000000)

static inline int64_t hr_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * HR_NS_PER_S + t.tv_nsec;
}

static inline int64_t hr_clock_ms(void)
{
    return hr_clock_ns() / HR_NS_PER_MS;
}

/* `ns` from now, for pthread_cond_timedwait with a condition of hr_cond_init. */
static inline struct timespec hr_clock_after(int64_t ns)
{
    int64_t at = hr_clock_ns() + ns;
    return (struct timespec){(time_t)(at / HR_NS_PER_S), (long)(at % HR_NS_PER_S)};
}

/* A condition whose timed waits go by this clock. */
static inline void hr_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &clock);
    pthread_condattr_destroy(&clock);
}
