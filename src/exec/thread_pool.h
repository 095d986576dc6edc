/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Threads that work for several pipelines. A pipeline is a user of the pool: it calls for threads,
 * a thread serves it until there is nothing to do, and then serves another user. A user gets at
 * most as many threads at once as it asked for when it joined, so that pipelines that never run
 * cost no threads, and a thousand of them need no more than a few that run at once. */
#pragma once

#include "core/core.h"

typedef struct hr_pool_user hr_pool_user;

struct hr_pool_user {
    /* set before joining */
    void (*serve)(void *context); /* works, and calls hr__pool_served at its end */
    void *context;
    int32_t most; /* threads at once */
    /* set by joining; the pool's lock guards what follows */
    hr_thread_pool *pool; /* NULL: the user has not joined */
    hr_pool_user *previous, *next;
    hr_pool_user *waiting_next; /* in the queue of users that want threads */
    int32_t busy;               /* threads that serve it */
    int32_t wanted;             /* threads that shall come; > 0: it is in the queue */
};

/* Starts the threads that the user may need. */
hr_status hr__pool_join(hr_thread_pool *pool, hr_pool_user *user, hr_error *error);
/* Waits until no thread serves the user, which has to see to it that `serve` returns. None comes
 * afterwards. No effect if the user has not joined. */
void hr__pool_leave(hr_pool_user *user);
/* Calls so many threads, as far as the user may have them. One that is there already need not
 * come: it looks for work before it ends. */
void hr__pool_call(hr_pool_user *user, int32_t threads);
/* A thread ends serving. `again`: there may be work left. Call it under the lock under which
 * `serve` saw that there is nothing to do, so that no call is lost in between. */
void hr__pool_served(hr_pool_user *user, bool again);
/* Whether other users wait for a thread, and none is free. */
bool hr__pool_pressed(const hr_pool_user *user);
/* Whether there are threads for all users at once, so that one may wait where it is. */
bool hr__pool_roomy(const hr_pool_user *user);
/* Thread i of the pool runs on cpus[i]; before the first user joins. */
hr_status hr__pool_pin(hr_thread_pool *pool, const int *cpus, int32_t count, hr_error *error);
/* Around a wait for work of a pool's threads (a function of the user's may run another pipeline):
 * if the calling thread is itself one of a pool, another takes its place meanwhile. */
void hr__pool_wait_begin(void);
void hr__pool_wait_end(void);
