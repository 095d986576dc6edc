/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A tiny harness: TEST(name) { CHECK(x); ... } and TEST_MAIN at the file's end. A failed CHECK ends
 * its test; the program prints one line a failure and a closing "N passed, N failed". */
#ifndef HR_TESTS_TEST_H
#define HR_TESTS_TEST_H

#include <stdio.h>
#include <string.h>

typedef void (*test_fn)(void);
typedef struct test_case {
    const char *name;
    test_fn run;
} test_case;

static test_case test_cases[512];
static int test_count, test_failed_now;

#define TEST(id)                                                                                   \
    static void test_##id(void);                                                                   \
    __attribute__((constructor)) static void test_add_##id(void)                                   \
    {                                                                                              \
        test_cases[test_count++] = (test_case){#id, test_##id};                                    \
    }                                                                                              \
    static void test_##id(void)

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

#define TEST_MAIN                                                                                  \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        int failed = 0, ran = 0;                                                                   \
        for (int i = 0; i < test_count; i++) {                                                     \
            if (argc > 1 && strcmp(argv[1], test_cases[i].name) != 0)                              \
                continue;                                                                          \
            test_failed_now = 0;                                                                   \
            test_cases[i].run();                                                                   \
            ran++;                                                                                 \
            if (test_failed_now) {                                                                 \
                printf("FAILED %s\n", test_cases[i].name);                                         \
                failed++;                                                                          \
            }                                                                                      \
        }                                                                                          \
        printf("%d passed, %d failed\n", ran - failed, failed);                                    \
        return failed != 0 || ran == 0;                                                            \
    }

#endif
