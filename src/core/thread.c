/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Hands a new thread what belongs to the thread that starts it. */
#include "core/thread.h"
#include "core/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

typedef struct start {
    void *(*run)(void *);
    void *context;
    hr_alloc_count *count;
} start;

static void *thread_main(void *context)
{
    const start s = *(start *)context;
    free(context);
    hr_alloc_share(s.count);
    return s.run(s.context);
}

int hr_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
    start *s = malloc(sizeof(*s)); /* not hr_calloc: when it runs is a matter of chance */
    if (!s)
        return ENOMEM;
    *s = (start){run, context, hr_alloc_shared()};
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(thread, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code)
        free(s);
    return code;
}
