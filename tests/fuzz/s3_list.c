/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: what servers and files of other programs say. The first byte chooses the parser:
 * listings of S3, or profiles of AWS. */
#include "io/s3.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static hr_status found(void *context, const char *name, bool is_folder, hr_error *error)
{
    size_t *total = context;
    (void)is_folder;
    (void)error;
    if (!*name || strchr(name, '/'))
        abort();
    *total += strlen(name);
    return HR_STATUS_OK;
}

static void key(void *context, const char *name, const char *value)
{
    *(size_t *)context += strlen(name) + strlen(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char next[1024];
    size_t total = 0;
    hr_error error;
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    if (data[0] & 1)
        hr_ini_read(text, "default", key, &total);
    else
        (void)hr_s3_parse_list(text, "a/", found, &total, next, &error);
    free(text);
    return 0;
}
