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

/* All signals but those that a fault of the thread itself raises: a handler may report them. */
static void block_signals(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&most, own[i]);
    pthread_sigmask(SIG_BLOCK, &most, old);
}

int hr_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
    start *s = malloc(sizeof(*s)); /* not hr_calloc: when it runs is a matter of chance */
    if (!s)
        return ENOMEM;
    *s = (start){run, context, hr_alloc_shared()};
    sigset_t old;
    block_signals(&old);
    int code = pthread_create(thread, NULL, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code)
        free(s);
    return code;
}
