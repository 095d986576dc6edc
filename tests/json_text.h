/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Writes a JSON tree as text. */
#pragma once

#include "core/json.h"

static void write_value(hr_text *text, const hr_json *json)
{
    bool object = json->kind == HR_JSON_KIND_OBJECT;
    if (json->kind == HR_JSON_KIND_NULL)
        hr_text_append(text, "null");
    else if (json->kind == HR_JSON_KIND_BOOL)
        hr_text_append(text, json->i ? "true" : "false");
    else if (json->kind == HR_JSON_KIND_NUMBER && json->is_integer)
        hr_text_append(text, "%lld", (long long)json->i);
    else if (json->kind == HR_JSON_KIND_NUMBER)
        hr_text_append_double(text, json->f);
    else if (json->kind == HR_JSON_KIND_STRING)
        hr_text_append_quoted(text, json->s);
    if (json->kind < HR_JSON_KIND_LIST)
        return;
    hr_text_append(text, object ? "{" : "[");
    for (int32_t i = 0; i < json->count; i++) {
        hr_text_append(text, i ? "," : "");
        if (object) {
            hr_text_append_quoted(text, json->keys[i]);
            hr_text_append(text, ":");
        }
        write_value(text, &json->items[i]);
    }
    hr_text_append(text, object ? "}" : "]");
}
