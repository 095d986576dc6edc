/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A main for fuzz targets that are built without libFuzzer: runs the target over the files, and the
 * files of the folders, named on the command line. Include it last in the target's file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef HR_FUZZ
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int replayed;

/* The input lies in memory of exactly its size, so that a sanitizer sees every read beyond it. */
static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
    if (data && fread(data, 1, (size_t)size, file) == (size_t)size) {
        LLVMFuzzerTestOneInput(data, (size_t)size);
        replayed++;
    }
    free(data);
    fclose(file);
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return;
    }
    char inside[4096];
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (entry->d_name[0] != '.') {
            snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
            replay_file(inside);
        }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%d inputs replayed\n", replayed);
    return replayed == 0; /* an empty corpus tests nothing */
}
#endif
