/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The photographs that tests use: the JPEG files that tools/make_demo_data.py --tests makes (the
 * test `photographs` of CTest runs it), and those of the folder HEADRACE_TEST_DATA, if it is set.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct photograph {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    int index; /* in its folder, in the order of the names */
} photograph;

/* Returns false if the test has failed. */
typedef bool photograph_fn(const photograph *p);

/* Adds to `index` the number of JPEG files. */
static inline bool photographs_file(const char *path, int *index, photograph_fn *fn)
{
    FILE *f = fopen(path, "rb");
    bool good = f && fseek(f, 0, SEEK_END) == 0;
    size_t size = good ? (size_t)ftell(f) : 0;
    uint8_t *bytes = malloc(size + 1);
    if (f) {
        rewind(f);
        good = fread(bytes, 1, size, f) == size;
        fclose(f);
    }
    if (good && size > 3 && bytes[0] == 0xFF && bytes[1] == 0xD8)
        good = fn(&(photograph){path, bytes, size, (*index)++});
    if (!good)
        printf("%s: failed\n", path);
    free(bytes);
    return good;
}

static inline bool photographs_folder(const char *path, int *index, photograph_fn *fn)
{
    struct dirent **names;
    bool good = true;
    char inside[4096];
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        return photographs_file(path, index, fn);
    for (int i = 0; i < count; i++) {
        int length = snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && good)
            good = length < (int)sizeof inside && photographs_folder(inside, index, fn);
        free(names[i]);
    }
    free(names);
    return good;
}

#define PHOTOGRAPHS HR_TESTS "/../.cache/test-photographs"

/* The folder i of those that tests use, or NULL. */
static inline const char *photographs_root(int i)
{
    const char *given = getenv("HEADRACE_TEST_DATA");
    return i == 0 ? PHOTOGRAPHS : i == 1 && given && *given ? given : NULL;
}

/* Calls `fn` for all photographs until it fails. Fails also if a folder has no JPEG files. */
static inline bool photographs_all(photograph_fn *fn)
{
    bool good = true;
    for (int i = 0; good && photographs_root(i); i++) {
        int count = 0;
        good = photographs_folder(photographs_root(i), &count, fn) && count > 0;
        if (count == 0)
            printf("%s has no JPEG files%s\n", photographs_root(i),
                   i == 0 ? "; the test `photographs` of CTest makes them" : "");
    }
    return good;
}
