/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Threads of the library. */
#pragma once

#include <pthread.h>

/* As pthread_create with default attributes, but the new thread takes no signals: they are for the
 * threads of the program. It shares the count of hr_alloc_fail_after with the thread that starts
 * it. */
int hr_thread_create(pthread_t *thread, void *(*run)(void *), void *context);
