/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Failures: a status for code to branch on, a message for people to read. */
#ifndef HR_CORE_ERROR_H
#define HR_CORE_ERROR_H

#include "headrace/headrace.h"

/* Writes the message (`error` may be NULL) and returns `status`, so that failing takes one
 * statement. */
hr_status hr_fail(hr_error *error, hr_status status, const char *fmt, ...) HR_PRINTF(3, 4);
/* HR_STATUS_IO, with the system's text for `code` after the message. */
hr_status hr_fail_errno(hr_error *error, int code, const char *fmt, ...) HR_PRINTF(3, 4);
hr_status hr_fail_memory(hr_error *error, size_t size);
/* Puts "text: " before the message already there and returns its status; HR_STATUS_ERROR when
 * `error` is NULL. */
hr_status hr_error_prefix(hr_error *error, const char *fmt, ...) HR_PRINTF(2, 3);

#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        hr_status hr_try_status = (call);                                                          \
        if (hr_try_status != HR_STATUS_OK)                                                         \
            return hr_try_status;                                                                  \
    } while (0)

#define HR_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HR_MAX(a, b) ((a) > (b) ? (a) : (b))
#define HR_DIVIDE_UP(a, b) (((a) + (b)-1) / (b))

#endif
