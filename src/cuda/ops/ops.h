/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators of the module; the table is made from the files in this folder. */
#pragma once

#include "device/module.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const hr_cuda_op *const hr_cuda_ops[]; /* NULL-terminated */

#ifdef __cplusplus
}
#endif
