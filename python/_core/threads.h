/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ThreadPool, and the pool of pipelines that are given none. */
#pragma once

#include "core.h"

extern PyType_Spec threads_spec;

/* The pool of a ThreadPool, or for NULL and None that of the process. Borrowed; 0, or -1 with an
 * exception. */
int threads_get(core_state *state, PyObject *object, hr_thread_pool **out);
