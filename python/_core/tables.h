/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tables that Python reads, and the files that it reads them from. */
#pragma once

#include "core.h"

extern PyType_Spec file_spec;
extern PyMethodDef tables_functions[];
