/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: any bytes give a value or an error. A value that is written and read again gives the
 * same text. The first byte selects an allocation that fails. */
#include "core/alloc.h"
#include "core/json.h"

#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "replay.h"

static char *read_and_write(const char *text, size_t size)
{
    hr_error error;
    hr_json *json;
    char *out = NULL;
    if (hr_json_parse(&json, text, size, &error) != HR_STATUS_OK)
        return NULL;
    hr_text written = {0};
    write_value(&written, json);
    hr_json_destroy(json);
    hr_text_take(&written, &out, NULL, NULL);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    hr_alloc_fail_after(data[0] < 16 ? data[0] : -1);
    char *once = read_and_write((const char *)data + 1, size - 1);
    hr_alloc_fail_after(-1);
    if (!once)
        return 0;
    char *twice = read_and_write(once, strlen(once));
    if (!twice || strcmp(once, twice) != 0)
        abort();
    hr_string_free(once);
    hr_string_free(twice);
    return 0;
}
