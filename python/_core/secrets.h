/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Credentials for object storage that a Python function gives. */
#ifndef HEADRACE_PYTHON_SECRETS_H
#define HEADRACE_PYTHON_SECRETS_H

#include "core.h"

extern PyMethodDef secrets_functions[];

#endif
