// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Stands in for CUDA's header of this name.
#include "cuda_runtime_api.h"
