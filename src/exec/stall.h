/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Delays that tests inject with HEADRACE_STALL. */
#pragma once

#include "core/core.h"

typedef struct hr_stall {
    bool random;
    int64_t read_us, decode_us, index_us;
} hr_stall;

hr_status hr__stall_parse(hr_stall *stall, const char *text, hr_error *error);
void hr__stall_random(const hr_stall *stall, uint64_t salt);
void hr__stall_for(int64_t us);
