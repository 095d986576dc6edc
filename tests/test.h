/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A tiny harness: TEST(name) { CHECK(x); ... } and TEST_MAIN at the file's end. A failed CHECK ends
 * its test; the program prints one line a failure and a closing "N passed, N failed". */
#pragma once

#include <stdio.h>
#include <string.h>

typedef void (*test_fn)(void);
typedef struct test_case {
    const char *name;
    test_fn run;
    int timing;
} test_case;

static test_case test_cases[512];
static int test_count, test_failed_now;

#define TEST_KIND(id, is_timing)                                                                   \
    static void test_##id(void);                                                                   \
    __attribute__((constructor)) static void test_add_##id(void)                                   \
    {                                                                                              \
        test_cases[test_count++] = (test_case){#id, test_##id, is_timing};                         \
    }                                                                                              \
    static void test_##id(void)

#define TEST(id) TEST_KIND(id, 0)

/* A test of how long something takes. It runs only with the argument --timing, which ctest gives in
 * `timing.FOLDER.FILE`, while no other test runs; if it fails, it runs once more. */
#define TIMING_TEST(id) TEST_KIND(id, 1)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                         \
            test_failed_now = 1;                                                                   \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define CHECK_OK(call, error)                                                                      \
    do {                                                                                           \
        if ((call) != HR_STATUS_OK) {                                                              \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (error).message);                 \
            test_failed_now = 1;                                                                   \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static inline int test_run(const test_case *t)
{
    test_failed_now = 0;
    t->run();
    if (test_failed_now && t->timing) {
        printf("FAILED %s: it is a matter of time, so it runs once more\n", t->name);
        test_failed_now = 0;
        t->run();
    }
    if (test_failed_now)
        printf("FAILED %s\n", t->name);
    return test_failed_now;
}

/* All tests without timing, those with it, or the one of that name. */
static inline int test_main(const char *which)
{
    int failed = 0, ran = 0, timing = which && strcmp(which, "--timing") == 0;
    for (int i = 0; i < test_count; i++) {
        const test_case *t = &test_cases[i];
        if (which && !timing ? strcmp(which, t->name) != 0 : t->timing != timing)
            continue;
        failed += test_run(t);
        ran++;
    }
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0 || ran == 0;
}

#define TEST_MAIN                                                                                  \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_main(argc > 1 ? argv[1] : NULL);                                               \
    }
