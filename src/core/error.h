/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Failures: a status for code to branch on, a message for people to read (hr_fail, HR_TRY). */
#pragma once

#include "headrace/operator.h"

#define HR_UNLIKELY(x) __builtin_expect(!!(x), 0)
