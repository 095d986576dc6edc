/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Globs of lists of files, against fnmatch. */
#include "readers/list.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static const char *const names[] = {"a.jpg", "b.JPG", ".jpg", "jpg", "c.jpg.png", "x*.jpg", "d[1]"};
static const char *const patterns[] = {"*.jpg", "*.JPG",    "*",     "*jpg", "a.*",   "[ab].jpg",
                                       "*[1]",  "*\\*.jpg", "?.jpg", "",     "*.jpg?"};

/* Makes the files in a new folder, or removes them. */
static bool fill(const char *root, bool make)
{
    char path[128];
    bool ok = true;
    snprintf(path, sizeof(path), "%s/k", root);
    ok = !make || mkdir(path, 0700) == 0;
    for (size_t i = 0; ok && i < HR_COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/k/%s", root, names[i]);
        int fd = make ? open(path, O_CREAT | O_WRONLY, 0600) : unlink(path);
        ok = fd >= 0 && (!make || close(fd) == 0);
    }
    snprintf(path, sizeof(path), "%s/k", root);
    return ok && (make || (rmdir(path) == 0 && rmdir(root) == 0));
}

static int64_t expected(const char *pattern, bool case_sensitive)
{
    int64_t n = 0;
    for (size_t i = 0; i < HR_COUNT_OF(names); i++)
        n += fnmatch(pattern, names[i], case_sensitive ? 0 : FNM_CASEFOLD) == 0;
    return n;
}

TEST(globs_are_those_of_fnmatch)
{
    char root[] = "/tmp/headrace-list-XXXXXX";
    CHECK(mkdtemp(root) && fill(root, true));
    for (size_t i = 0; i < 2 * HR_COUNT_OF(patterns); i++) {
        hr_file_list list = {0};
        const hr_list_filter filter = {
            .files = {&patterns[i / 2], 1}, .case_sensitive = i % 2, .labelled = true};
        CHECK(hr_file_list_scan(&list, root, &filter, NULL) == HR_STATUS_OK);
        CHECK(list.count == expected(patterns[i / 2], i % 2));
        hr_file_list_fini(&list);
    }
    CHECK(expected("*.jpg", true) == 3 && expected("*.jpg", false) == 4);
    CHECK(fill(root, false));
}

TEST_MAIN
