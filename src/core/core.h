/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* All of core in one include: errors, types, memory, tensors, random numbers, mathematics. */
#pragma once

#include "core/alloc.h"
#include "core/batch.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/json.h"
#include "core/mathx.h"
#include "core/rng.h"
#include "core/shown.h"
