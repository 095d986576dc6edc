/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of the caller, as graphs store them and operators call them. */
#pragma once

#include "headrace/headrace.h"

hr_status hr_function_call_run(const hr_function *function, hr_function_call *call,
                               hr_error *error);
