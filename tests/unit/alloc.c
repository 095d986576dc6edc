/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Plain memory, the arena, the pool and buffers, also from several threads. */
#include "core/alloc.h"
#include "core/note.h"
#include "core/thread.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % HR_ALIGN == 0;
}

TEST(checked_sizes)
{
    size_t out = 1;
    CHECK(hr_size_mul(1000, 1000, &out) && out == 1000000);
    CHECK(hr_size_mul(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    CHECK(!hr_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    CHECK(hr_size_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    CHECK(!hr_size_add(SIZE_MAX, 1, &out));
}

TEST(plain_memory)
{
    hr_error error;
    char *memory = hr_calloc(10, 100, &error);
    CHECK(memory);
    for (int i = 0; i < 1000; i++)
        CHECK(memory[i] == 0);
    memory[0] = 'x';
    memory = hr_realloc(memory, 100, 100, &error);
    CHECK(memory && memory[0] == 'x');
    memory[9999] = 1;
    hr_free(memory);
    hr_free(NULL);
    void *empty = hr_calloc(0, 8, &error);
    CHECK(empty);
    hr_free(empty);
    char *text = hr_strdup("text", &error);
    CHECK(text && strcmp(text, "text") == 0);
    hr_string_free(text);
    CHECK(!hr_calloc(SIZE_MAX / 2, 4, &error) && error.status == HR_STATUS_NO_MEMORY);
    CHECK(!hr_calloc(SIZE_MAX, 1, &error) && error.status == HR_STATUS_NO_MEMORY);
}

TEST(nth_allocation_fails_once)
{
    hr_error error;
    for (int64_t n = 0; n < 4; n++) {
        hr_alloc_fail_after(n);
        for (int64_t i = 0; i < 6; i++) {
            void *memory = hr_calloc(1, 1, &error);
            CHECK((memory == NULL) == (i == n));
            hr_free(memory);
        }
    }
    hr_alloc_fail_after(0);
    char *memory = hr_calloc(1, 4, NULL);
    CHECK(!memory);
    memory = hr_calloc(1, 4, NULL);
    memory[0] = 'k';
    hr_alloc_fail_after(0);
    CHECK(!hr_realloc(memory, 1, 8, &error) && memory[0] == 'k');
    hr_free(memory);
    hr_alloc_fail_after(3);
    hr_alloc_fail_after(-1);
    for (int i = 0; i < 8; i++) {
        memory = hr_calloc(1, 1, NULL);
        CHECK(memory);
        hr_free(memory);
    }
}

static void *allocate_ten(void *failed)
{
    for (int i = 0; i < 10; i++) {
        void *memory = hr_calloc(1, 1, NULL);
        *(int *)failed += memory == NULL;
        hr_free(memory);
    }
    return NULL;
}

/* Only threads that the library starts for this one count its allocations. */
TEST(the_failure_belongs_to_this_thread_and_those_it_starts)
{
    pthread_t thread;
    int failed = 0;
    hr_alloc_fail_after(5);
    CHECK(pthread_create(&thread, NULL, allocate_ten, &failed) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && failed == 0);
    CHECK(hr_thread_create(&thread, allocate_ten, &failed) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && failed == 1);
    allocate_ten(&failed);
    CHECK(failed == 1);
    hr_alloc_fail_after(0);
    allocate_ten(&failed);
    CHECK(failed == 2);
    hr_alloc_fail_after(-1);
}

/* ---- arena ---- */

TEST(arena_blocks_are_apart_and_padded)
{
    hr_error error;
    hr_arena *arena;
    CHECK_OK(hr_arena_create(&arena, &error), error);
    for (int round = 0; round < 3; round++) {
        unsigned char *memory[200];
        for (int i = 0; i < 200; i++) {
            size_t size = (size_t)i * 997;
            memory[i] = hr_arena_alloc(arena, size, &error);
            CHECK(memory[i] && is_aligned(memory[i]));
            memset(memory[i], i, size + HR_PAD);
        }
        for (int i = 0; i < 200; i++) {
            for (size_t k = 0; k < (size_t)i * 997 + HR_PAD; k++)
                CHECK(memory[i][k] == (unsigned char)i);
        }
        hr_arena_reset(arena);
    }
    CHECK(!hr_arena_alloc(arena, SIZE_MAX - 10, &error) && error.status == HR_STATUS_NO_MEMORY);
    CHECK(!hr_arena_alloc(arena, SIZE_MAX / 2, &error) && error.status == HR_STATUS_NO_MEMORY);
    CHECK(hr_arena_alloc(arena, 1, &error));
    hr_arena_destroy(arena);
    hr_arena_destroy(NULL);
}

TEST(arena_reuses_memory)
{
    hr_error error;
    hr_arena *arena;
    CHECK_OK(hr_arena_create(&arena, &error), error);
    void *first = hr_arena_alloc(arena, 1000, &error),
         *big = hr_arena_alloc(arena, 3 << 20, &error);
    CHECK(first && big);
    hr_arena_reset(arena);
    hr_alloc_fail_after(0); /* allocations from the system fail from here on */
    void *again = hr_arena_alloc(arena, 1000, &error), *big_again;
    big_again = hr_arena_alloc(arena, 3 << 20, &error);
    hr_alloc_fail_after(-1);
    CHECK(again == first && big_again == big);
    /* Memory beyond what an arena keeps is returned to the system. */
    hr_arena_reset(arena);
    CHECK(hr_arena_alloc(arena, (size_t)200 << 20, &error));
    hr_arena_reset(arena);
    hr_alloc_fail_after(0);
    CHECK(!hr_arena_alloc(arena, (size_t)200 << 20, &error));
    hr_alloc_fail_after(-1);
    hr_arena_destroy(arena);
}

/* Memory that an arena holds beyond its fixed part, and memory that libraries take, count under the
 * limit as outputs do. */
TEST(arena_counts_under_the_limit)
{
    const size_t mib = (size_t)1 << 20, kept = 64 * mib;
    hr_error error;
    hr_arena *arena;
    hr_pool *pool;
    hr_buffer *buffer;
    CHECK_OK(hr_pool_create(&pool, 100 * mib, &error), error);
    CHECK_OK(hr_arena_create(&arena, &error), error);
    hr_arena_limit(arena, pool);
    CHECK(hr_arena_alloc(arena, kept - mib, &error));
    CHECK_OK(hr_pool_alloc(pool, 90 * mib, &buffer, &error), error); /* nothing else counts yet */
    hr_buffer_unref(buffer);
    hr_arena_mark mark = hr_arena_save(arena);
    CHECK(hr_arena_alloc(arena, 40 * mib, &error));
    CHECK(hr_pool_alloc(pool, 90 * mib, &buffer, &error) == HR_STATUS_NO_MEMORY);
    CHECK(strstr(error.message, "host_memory_limit"));
    CHECK_OK(hr_pool_alloc(pool, 50 * mib, &buffer, &error), error);
    CHECK(!hr_arena_alloc(arena, 40 * mib, &error) && error.status == HR_STATUS_NO_MEMORY);
    hr_buffer_unref(buffer);
    CHECK(!hr_arena_alloc(arena, 170 * mib, &error) && error.status == HR_STATUS_LIMIT);
    hr_arena_restore(arena, mark);
    hr_arena_trim(arena);
    CHECK_OK(hr_pool_alloc(pool, 90 * mib, &buffer, &error), error);
    CHECK(hr_arena_count(arena, 20 * mib, &error) == HR_STATUS_NO_MEMORY);
    CHECK_OK(hr_arena_count(arena, 8 * mib, &error), error);
    CHECK(!hr_arena_alloc(arena, 3 * mib, &error));
    hr_arena_uncount(arena, 8 * mib);
    CHECK(hr_arena_alloc(arena, 3 * mib, &error));
    hr_buffer_unref(buffer);
    hr_arena_destroy(arena);
    CHECK_OK(hr_pool_alloc(pool, 100 * mib, &buffer, &error), error);
    hr_buffer_unref(buffer);
    hr_pool_unref(pool);
}

TEST(arena_save_and_restore)
{
    hr_error error;
    hr_arena *arena;
    CHECK_OK(hr_arena_create(&arena, &error), error);
    hr_arena_mark empty = hr_arena_save(arena);
    char *keep = hr_arena_alloc(arena, 100, &error);
    memset(keep, 'k', 100);
    hr_arena_mark mark = hr_arena_save(arena);
    char *next = hr_arena_alloc(arena, 50, &error);
    for (int i = 0; i < 30; i++)
        memset(hr_arena_alloc(arena, (size_t)i * 50000, &error), 'x', (size_t)i * 50000);
    hr_arena_restore(arena, mark);
    CHECK(hr_arena_alloc(arena, 50, &error) == next);
    for (int i = 0; i < 100; i++)
        CHECK(keep[i] == 'k');
    hr_arena_restore(arena, empty);
    CHECK(hr_arena_alloc(arena, 100, &error) == keep);
    hr_arena_destroy(arena);
}

/* ---- pool ---- */

TEST(pool_lends_aligned_padded_memory)
{
    hr_error error;
    hr_pool *pool;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    static const size_t sizes[] = {0,     1,      63,      64,      65,      447,     448,
                                   449,   511,    512,     513,     1000,    4096,    65537,
                                   99999, 150528, 2000000, 2097152, 2097153, 5000000, 20000000};
    for (int round = 0; round < 2; round++) {
        hr_buffer *buffers[HR_COUNT_OF(sizes)];
        size_t lent = 0;
        for (size_t i = 0; i < HR_COUNT_OF(sizes); i++) {
            CHECK_OK(hr_pool_alloc(pool, sizes[i], &buffers[i], &error), error);
            CHECK(is_aligned(hr_buffer_data(buffers[i])) && hr_buffer_size(buffers[i]) == sizes[i]);
            memset(hr_buffer_data(buffers[i]), (int)i, sizes[i] + HR_PAD);
            lent += sizes[i];
            CHECK(hr_pool_lent(pool) == lent);
        }
        for (size_t i = 0; i < HR_COUNT_OF(sizes); i++) {
            const unsigned char *bytes = hr_buffer_data(buffers[i]);
            for (size_t k = 0; k < sizes[i] + HR_PAD; k += k < 5000 ? 1 : 4093)
                CHECK(bytes[k] == (unsigned char)i);
            hr_buffer_unref(buffers[i]);
        }
        CHECK(hr_pool_lent(pool) == 0 && hr_pool_peak(pool) == lent);
    }
    hr_buffer *none;
    CHECK(hr_pool_alloc(pool, SIZE_MAX - 50, &none, &error) == HR_STATUS_NO_MEMORY && !none);
    CHECK(hr_pool_alloc(pool, SIZE_MAX / 2 + 1, &none, &error) == HR_STATUS_NO_MEMORY);
    CHECK(hr_pool_alloc(pool, SIZE_MAX / 4, &none, &error) == HR_STATUS_NO_MEMORY);
    CHECK(hr_pool_lent(pool) == 0);
    hr_pool_unref(pool);
    hr_pool_unref(NULL);
}

TEST(pool_recycles)
{
    hr_error error;
    hr_pool *pool;
    hr_buffer *a, *b;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_pool_alloc(pool, 3000000, &a, &error), error);
    void *data = hr_buffer_data(a);
    hr_buffer_unref(a);
    hr_alloc_fail_after(
        0); /* buffers of about the same size, or a little smaller, need no new memory */
    hr_status same = hr_pool_alloc(pool, 2990000, &a, &error);
    void *again = a ? hr_buffer_data(a) : NULL;
    hr_buffer_unref(a);
    hr_status smaller = hr_pool_alloc(pool, 2400000, &b, &error);
    hr_alloc_fail_after(-1);
    CHECK(same == HR_STATUS_OK && again == data && smaller == HR_STATUS_OK);
    CHECK(hr_pool_lent(pool) == 2400000);
    hr_buffer_unref(b);
    hr_pool_unref(pool);
}

TEST(pool_limit)
{
    hr_error error;
    hr_pool *pool;
    hr_buffer *a, *b;
    CHECK_OK(hr_pool_create(&pool, 1000, &error), error);
    CHECK_OK(hr_pool_alloc(pool, 600, &a, &error), error);
    CHECK(hr_pool_alloc(pool, 401, &b, &error) == HR_STATUS_NO_MEMORY && !b);
    CHECK(strstr(error.message, "1000") && strstr(error.message, "401"));
    CHECK(hr_pool_alloc(pool, 2000, &b, &error) == HR_STATUS_NO_MEMORY);
    CHECK_OK(hr_pool_alloc(pool, 400, &b, &error), error);
    hr_buffer_unref(a);
    CHECK(hr_pool_lent(pool) == 400 && hr_pool_peak(pool) == 1000);
    CHECK_OK(hr_pool_alloc(pool, 600, &a, &error), error);
    hr_buffer_unref(a);
    hr_buffer_unref(b);
    hr_pool_unref(pool);
}

/* Free blocks in the pool count under the limit, too: shapes that change all the time must not make
 * them pile up. */
TEST(pool_gives_back_what_does_not_fit)
{
    hr_error error;
    hr_pool *pool;
    hr_buffer *a;
    const size_t limit = (size_t)32 << 20;
    CHECK_OK(hr_pool_create(&pool, limit, &error), error);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(hr_pool_alloc(pool, (size_t)(8 + i) << 20, &a, &error), error);
        memset(hr_buffer_data(a), 1, 4096);
        hr_buffer_unref(a);
    }
    /* The last block is back in the pool; keeping the first one as well would exceed the limit. */
    hr_alloc_fail_after(0);
    hr_status largest = hr_pool_alloc(pool, (size_t)17 << 20, &a, &error);
    if (largest == HR_STATUS_OK)
        hr_buffer_unref(a);
    hr_alloc_fail_after(0);
    hr_status first = hr_pool_alloc(pool, (size_t)8 << 20, &a, &error);
    hr_alloc_fail_after(-1);
    CHECK(largest == HR_STATUS_OK && first == HR_STATUS_NO_MEMORY);
    CHECK(hr_pool_lent(pool) == 0);
    hr_pool_unref(pool);
}

TEST(buffers_outlive_their_pool)
{
    hr_error error;
    hr_pool *pool;
    hr_buffer *a;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_pool_alloc(pool, 5000, &a, &error), error);
    CHECK(hr_pool_ref(pool) == pool);
    hr_pool_unref(pool);
    hr_pool_unref(pool);
    memset(hr_buffer_data(a), 7, 5000);
    CHECK(hr_buffer_ref(a) == a);
    hr_buffer_unref(a);
    CHECK(((char *)hr_buffer_data(a))[4999] == 7);
    hr_buffer_unref(a);
    hr_buffer_unref(NULL);
}

static void count_release(void *context)
{
    ++*(int *)context;
}

TEST(adopted_and_lone_buffers)
{
    hr_error error;
    hr_buffer *a;
    int released = 0;
    char memory[10];
    CHECK_OK(hr_buffer_adopt(&a, memory, sizeof memory, count_release, &released, &error), error);
    CHECK(hr_buffer_data(a) == memory && hr_buffer_size(a) == sizeof memory);
    hr_buffer_ref(a);
    hr_buffer_unref(a);
    CHECK(released == 0);
    hr_buffer_unref(a);
    CHECK(released == 1);
    CHECK_OK(hr_buffer_adopt(&a, memory, sizeof memory, NULL, NULL, &error), error);
    hr_buffer_unref(a);
    hr_alloc_fail_after(0);
    CHECK(hr_buffer_adopt(&a, memory, 1, count_release, &released, &error) == HR_STATUS_NO_MEMORY);
    CHECK(released == 1 && !a);
    CHECK_OK(hr_buffer_create(&a, 12345, &error), error);
    CHECK(is_aligned(hr_buffer_data(a)) && hr_buffer_size(a) == 12345);
    memset(hr_buffer_data(a), 1, 12345 + HR_PAD);
    hr_buffer_unref(a);
    CHECK(hr_buffer_create(&a, SIZE_MAX - 100, &error) == HR_STATUS_NO_MEMORY && !a);
}

/* Replaces a device's pinned memory; a limited amount can be allocated. */
static int pin_pieces, pin_most;

static hr_status pin(int32_t device, size_t size, void **out, hr_error *error)
{
    (void)device;
    if (pin_pieces >= pin_most)
        return hr_fail(error, HR_STATUS_NO_MEMORY, "no pinned memory");
    *out = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    pin_pieces++;
    return HR_STATUS_OK;
}

static void unpin(void *memory)
{
    free(memory);
    pin_pieces--;
}

TEST(small_pinned_blocks_come_from_slabs)
{
    enum { COUNT = 300, SIZE = 100000 };
    hr_error error;
    hr_pool *pool;
    hr_buffer *buffers[COUNT], *small, *large;
    pin_most = 3;
    CHECK(hr_pool_create(&pool, 0, &error) == HR_STATUS_OK);
    hr_pool_pin(pool, 0, 4096, pin, unpin);
    CHECK(hr_pool_alloc(pool, 100, &small, &error) == HR_STATUS_OK && !hr_buffer_pinned(small));
    CHECK(hr_pool_alloc(pool, 3 << 20, &large, &error) == HR_STATUS_OK && hr_buffer_pinned(large));
    int pinned = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK(hr_pool_alloc(pool, SIZE, &buffers[i], &error) == HR_STATUS_OK);
        memset(hr_buffer_data(buffers[i]), i, SIZE);
        pinned += hr_buffer_pinned(buffers[i]);
    }
    CHECK(pin_pieces == 3); /* the large one and two slabs: about 150 buffers */
    CHECK(pinned > 130 && pinned < 170);
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *data = hr_buffer_data(buffers[i]);
        CHECK(data[0] == (i & 255) && data[SIZE - 1] == (i & 255));
    }
    hr_pool_unref(pool); /* a slab lives as long as its blocks */
    hr_buffer_unref(small);
    hr_buffer_unref(large);
    for (int i = 0; i < COUNT; i++)
        hr_buffer_unref(buffers[i]);
    CHECK(pin_pieces == 0);
}

TEST(notes_on_settled_buffers)
{
    hr_error error = {0};
    hr_pool *pool;
    hr_buffer *buffer;
    hr_note out;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_pool_alloc(pool, 1000, &buffer, &error), error);
    const char *data = hr_buffer_data(buffer);
    hr_buffer_put_note(buffer, data, 10, (hr_note){{1, 2}});
    CHECK(!hr_buffer_get_note(buffer, data, 10, &out)); /* somebody may still write */
    hr_buffer_settle(buffer);
    CHECK(!hr_buffer_get_note(buffer, data, 10, &out));
    hr_buffer_put_note(buffer, data, 10, (hr_note){{1, 2}});
    hr_buffer_settle(buffer);
    hr_buffer_put_note(buffer, data, 10, (hr_note){{3, 4}});
    CHECK(hr_buffer_get_note(buffer, data, 10, &out) && out.word[0] == 1 && out.word[1] == 2);
    CHECK(!hr_buffer_get_note(buffer, data, 11, &out));
    CHECK(!hr_buffer_get_note(buffer, data + 1, 10, &out));
    hr_buffer_unref(buffer);
    hr_buffer *again;
    CHECK_OK(hr_pool_alloc(pool, 1000, &again, &error), error);
    CHECK(again == buffer && !hr_buffer_get_note(again, data, 10, &out));
    hr_buffer_unref(again);
    hr_pool_unref(pool);
}

TEST(every_failing_allocation_leaves_the_pool_whole)
{
    hr_error error;
    for (int n = 0; n < 6; n++) {
        hr_pool *pool = NULL;
        hr_buffer *a = NULL, *b = NULL;
        hr_alloc_fail_after(n);
        if (hr_pool_create(&pool, 0, &error) == HR_STATUS_OK) {
            hr_status first = hr_pool_alloc(pool, 100, &a, &error);
            hr_status second = hr_pool_alloc(pool, 5000000, &b, &error);
            size_t want = (first ? 0 : 100) + (second ? 0 : 5000000);
            CHECK(hr_pool_lent(pool) == want && (n > 2 || first || second));
        } else {
            CHECK(n == 0);
        }
        hr_alloc_fail_after(-1);
        hr_buffer_unref(a);
        hr_buffer_unref(b);
        hr_pool_unref(pool);
    }
}

/* A forked child may release buffers that it inherited, but gets no new ones from the pool. */
TEST(forked_child)
{
    hr_error error;
    hr_pool *pool;
    hr_buffer *a, *b;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_pool_alloc(pool, 1000, &a, &error), error);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool refused = hr_pool_alloc(pool, 10, &b, &error) == HR_STATUS_STATE;
        hr_buffer_unref(a);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    hr_buffer_unref(a);
    hr_pool_unref(pool);
}

/* ---- threads ---- */

#define THREADS 4
#define SLOTS 16

typedef struct exchange {
    hr_pool *pool;
    _Atomic(hr_buffer *) slots[SLOTS]; /* threads swap buffers here, so that another thread frees
                                          them */
    atomic_int failures;
} exchange;

static void *exchange_buffers(void *context)
{
    exchange *e = context;
    unsigned random = (unsigned)(uintptr_t)&random;
    for (int i = 0; i < 4000; i++) {
        random = random * 1664525u + 1013904223u;
        size_t size = (random >> 8) % 20000 + 1;
        hr_buffer *buffer;
        if (hr_pool_alloc(e->pool, size, &buffer, NULL) != HR_STATUS_OK) {
            atomic_fetch_add(&e->failures, 1);
            continue;
        }
        memset(hr_buffer_data(buffer), i, size);
        hr_buffer *mine = hr_buffer_ref(buffer);
        buffer = atomic_exchange(&e->slots[(random >> 4) % SLOTS], buffer);
        if (buffer) {
            const char *bytes = hr_buffer_data(buffer);
            if (bytes[0] != bytes[hr_buffer_size(buffer) - 1])
                atomic_fetch_add(&e->failures, 1);
            hr_buffer_unref(buffer);
        }
        hr_buffer_unref(mine);
    }
    return NULL;
}

TEST(pool_from_threads)
{
    hr_error error;
    static exchange e;
    pthread_t threads[THREADS];
    CHECK_OK(hr_pool_create(&e.pool, 0, &error), error);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, exchange_buffers, &e) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&e.failures) == 0);
    CHECK(hr_pool_lent(e.pool) > 0 && hr_pool_peak(e.pool) <= (SLOTS + 2 * THREADS) * 20000);
    hr_pool *pool = e.pool;
    for (int i = 0; i < SLOTS - 1; i++)
        hr_buffer_unref(e.slots[i]);
    hr_pool_unref(pool); /* the last buffer keeps the pool alive */
    hr_buffer_unref(e.slots[SLOTS - 1]);
}

TEST_MAIN
