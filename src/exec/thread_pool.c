/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The pool has as many threads as its users may need at once, up to a limit. Idle threads wait for
 * `work`; those that are too many end, and the next user to join or leave joins them. Users that
 * want threads are in a queue: when there are too few threads, users take turns. */
#include "exec/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/thread.h"
#include "exec/affinity.h"

#define THREADS_LEAST 64  /* a pool without a limit of its own may always have so many ... */
#define THREADS_PER_CPU 4 /* ... or so many for each CPU: threads may wait for files or servers */

typedef struct member {
    pthread_t thread;
    hr_thread_pool *pool;
    int cpu;
    struct member *next; /* among those that have ended */
} member;

struct hr_thread_pool {
    atomic_int refs;
    pid_t pid;
    int32_t limit; /* 0: none of its own */
    int *cpus;     /* NULL: threads are not pinned */
    int32_t cpu_count;
    pthread_cond_t work;  /* a user wants threads, or threads shall end */
    pthread_cond_t left;  /* a thread ended serving a user, or ended */
    atomic_bool pressed;  /* users wait, and no thread is idle; written with `lock` */
    atomic_bool roomy;    /* there are threads for all users; written with `lock` */
    pthread_mutex_t lock; /* guards the following members, and those of the users */
    hr_pool_user *users;
    int64_t asked;              /* sum of `most` */
    int32_t largest;            /* `most` */
    int32_t allowed;            /* threads; `blocked` ones come on top */
    hr_pool_user *first, *last; /* that want threads */
    int32_t threads, idle;
    int32_t blocked; /* threads that wait for the work of others */
    member *ended;   /* to be joined */
};

static _Thread_local hr_thread_pool *thread_of; /* the pool whose thread this is */

hr_status hr_thread_pool_create(hr_thread_pool **out, int32_t max_threads, hr_error *error)
{
    if (max_threads < 0 || max_threads > HR_THREADS_MAX)
        return hr_fail(error, HR_STATUS_VALUE, "max_threads is %d; allowed are 0 .. %d",
                       max_threads, HR_THREADS_MAX);
    hr_thread_pool *pool = hr_calloc(1, sizeof(*pool), error);
    HR_TRY_ALLOC(pool);
    atomic_init(&pool->refs, 1);
    pool->pid = getpid();
    pool->limit = max_threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->left, NULL);
    *out = pool;
    return HR_STATUS_OK;
}

hr_thread_pool *hr_thread_pool_ref(hr_thread_pool *pool)
{
    atomic_fetch_add(&pool->refs, 1);
    return pool;
}

/* The last user ended all threads. In a forked child the threads and their locks are not to be
 * touched. */
void hr_thread_pool_unref(hr_thread_pool *pool)
{
    if (!pool || pool->pid != getpid() || atomic_fetch_sub(&pool->refs, 1) != 1)
        return;
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    hr_free(pool->cpus);
    hr_free(pool);
}

int32_t hr_thread_pool_threads(hr_thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    int32_t threads = pool->threads;
    pthread_mutex_unlock(&pool->lock);
    return threads;
}

hr_status hr__pool_pin(hr_thread_pool *pool, const int *cpus, int32_t count, hr_error *error)
{
    pool->cpus = hr_calloc((size_t)count, sizeof(*cpus), error);
    HR_TRY_ALLOC(pool->cpus);
    memcpy(pool->cpus, cpus, (size_t)count * sizeof(*cpus));
    pool->cpu_count = count;
    return HR_STATUS_OK;
}

/* Lock held, as for all functions from here to the threads' own. */
static void note_state(hr_thread_pool *pool)
{
    atomic_store_explicit(&pool->pressed, pool->first && pool->idle == 0, memory_order_relaxed);
}

static void count_users(hr_thread_pool *pool)
{
    pool->asked = pool->largest = 0;
    for (const hr_pool_user *u = pool->users; u; u = u->next) {
        pool->asked += u->most;
        pool->largest = HR_MAX(pool->largest, u->most);
    }
    int32_t limit = pool->limit;
    if (limit == 0)
        limit = HR_MAX(HR_MAX(THREADS_LEAST, THREADS_PER_CPU * hr__cpu_count()), pool->largest);
    pool->allowed = (int32_t)HR_MIN(pool->asked, limit);
    atomic_store_explicit(&pool->roomy, pool->allowed >= pool->asked, memory_order_relaxed);
}

static void queue_last(hr_thread_pool *pool, hr_pool_user *user)
{
    user->waiting_next = NULL;
    *(pool->last ? &pool->last->waiting_next : &pool->first) = user;
    pool->last = user;
}

static void unqueue(hr_thread_pool *pool, const hr_pool_user *user)
{
    hr_pool_user **at = &pool->first, *before = NULL;
    for (; *at && *at != user; at = &(*at)->waiting_next)
        before = *at;
    if (!*at)
        return;
    *at = user->waiting_next;
    pool->last = pool->last == user ? before : pool->last;
}

/* Adds what the user wants; returns how many threads that are. */
static int32_t want(hr_pool_user *user, int32_t threads)
{
    int32_t more = HR_MIN(threads, user->most - user->busy - user->wanted);
    if (more <= 0)
        return 0;
    if (user->wanted == 0)
        queue_last(user->pool, user);
    user->wanted += more;
    return more;
}

/* The user that is served next. One that wants more threads goes to the end of the queue. */
static hr_pool_user *take_user(hr_thread_pool *pool)
{
    hr_pool_user *user = pool->first;
    if (!user)
        return NULL;
    pool->first = user->waiting_next;
    pool->last = pool->first ? pool->last : NULL;
    user->busy++;
    if (--user->wanted > 0)
        queue_last(pool, user);
    note_state(pool);
    return user;
}

static void *member_main(void *context)
{
    member *m = context;
    hr_thread_pool *pool = m->pool;
    hr__affinity_pin(m->cpu);
    thread_of = pool;
    pthread_mutex_lock(&pool->lock);
    while (pool->threads <= pool->allowed + pool->blocked) {
        hr_pool_user *user = take_user(pool);
        if (user) {
            pthread_mutex_unlock(&pool->lock);
            user->serve(user->context);
            pthread_mutex_lock(&pool->lock);
            continue;
        }
        pool->idle++;
        note_state(pool);
        pthread_cond_wait(&pool->work, &pool->lock);
        pool->idle--;
        note_state(pool);
    }
    pool->threads--;
    m->next = pool->ended;
    pool->ended = m;
    pthread_cond_broadcast(&pool->left);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* 0, or an errno. */
static int add_member(hr_thread_pool *pool)
{
    member *m = hr_calloc(1, sizeof(*m), NULL);
    if (!m)
        return ENOMEM;
    m->pool = pool;
    m->cpu = pool->threads < pool->cpu_count ? pool->cpus[pool->threads] : -1;
    int code = hr_thread_create(&m->thread, member_main, m);
    if (code)
        hr_free(m);
    else
        pool->threads++;
    return code;
}

/* Joins the threads that have ended; releases the lock. */
static void join_ended(hr_thread_pool *pool)
{
    member *ended = pool->ended;
    pool->ended = NULL;
    pthread_mutex_unlock(&pool->lock);
    for (member *m = ended, *next; m; m = next) {
        next = m->next;
        pthread_join(m->thread, NULL);
        hr_free(m);
    }
}

/* ---- without the lock ---- */

hr_status hr__pool_join(hr_thread_pool *pool, hr_pool_user *user, hr_error *error)
{
    int code = 0;
    if (pool->pid != getpid())
        return hr_fail(error, HR_STATUS_STATE, "the thread pool belongs to another process");
    pthread_mutex_lock(&pool->lock);
    user->pool = pool;
    user->next = pool->users;
    if (user->next)
        user->next->previous = user;
    pool->users = user;
    count_users(pool);
    while (code == 0 && pool->threads < pool->allowed)
        code = add_member(pool);
    int32_t threads = pool->threads;
    join_ended(pool);
    if (code && threads < user->most) /* otherwise there are enough for it */
        return hr_fail(error, HR_STATUS_ERROR,
                       "num_threads: only %d of %d threads could be started: %s", threads,
                       user->most, strerror(code));
    return HR_STATUS_OK;
}

void hr__pool_leave(hr_pool_user *user)
{
    hr_thread_pool *pool = user->pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    unqueue(pool, user);
    user->wanted = 0;
    user->most = 0; /* no thread comes any more */
    while (user->busy > 0)
        pthread_cond_wait(&pool->left, &pool->lock);
    *(user->previous ? &user->previous->next : &pool->users) = user->next;
    if (user->next)
        user->next->previous = user->previous;
    count_users(pool);
    note_state(pool);
    pthread_cond_broadcast(&pool->work); /* threads that are too many end */
    while (!pool->users && pool->threads > 0)
        pthread_cond_wait(&pool->left, &pool->lock);
    join_ended(pool);
    user->pool = NULL;
}

void hr__pool_call(hr_pool_user *user, int32_t threads)
{
    hr_thread_pool *pool = user->pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    int32_t more = want(user, threads), idle = pool->idle;
    note_state(pool);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < HR_MIN(more, idle); i++)
        pthread_cond_signal(&pool->work);
}

void hr__pool_served(hr_pool_user *user, bool again)
{
    hr_thread_pool *pool = user->pool;
    pthread_mutex_lock(&pool->lock);
    user->busy--;
    if (again && want(user, 1) > 0) /* this thread takes the first user of the queue */
        pthread_cond_signal(&pool->work);
    note_state(pool);
    if (user->busy == 0 && user->most == 0)
        pthread_cond_broadcast(&pool->left);
    pthread_mutex_unlock(&pool->lock);
}

bool hr__pool_pressed(const hr_pool_user *user)
{
    return user->pool && atomic_load_explicit(&user->pool->pressed, memory_order_relaxed);
}

bool hr__pool_roomy(const hr_pool_user *user)
{
    return user->pool && atomic_load_explicit(&user->pool->roomy, memory_order_relaxed);
}

static void add_blocked(int32_t more)
{
    hr_thread_pool *pool = thread_of;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->blocked += more;
    if (more > 0 && pool->idle == 0 && pool->threads < pool->allowed + pool->blocked)
        (void)add_member(pool); /* without it, the other threads do the work if they can */
    if (more < 0)
        pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void hr__pool_wait_begin(void)
{
    add_blocked(1);
}

void hr__pool_wait_end(void)
{
    add_blocked(-1);
}
