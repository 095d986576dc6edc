/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Members of ZIP archives (.npz files) that are in memory. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* Whether the bytes begin like an archive. */
bool hr__zip_match(const void *data, size_t size);
/* The data of the member of this name, with or without ".npy". `*out` is in the archive, or in the
 * arena if it had to be inflated. */
hr_status hr__zip_member(const uint8_t *data, size_t size, const char *name, hr_arena *arena,
                         const uint8_t **out, size_t *out_size, hr_error *error);
