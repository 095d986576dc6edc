/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python functions that workers call. */
#pragma once

#include "core.h"

extern PyType_Spec function_call_spec;
/* A function that calls `object` with a FunctionCall; it only keeps a weak reference. The object
 * returns None, or an error message. NULL with an exception. */
hr_function *function_of(core_state *state, PyObject *object);
/* Whether this thread is a worker that is running a Python function. */
int function_inside(void);
