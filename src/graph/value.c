/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values of arguments: copying, printing, and the names and sizes of their types. */
#include "graph/value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    bool is_list;
} types[HR_ARG_TYPE_COUNT] = {
    [HR_ARG_TYPE_END] = {"?", 0, false},
    [HR_ARG_TYPE_BOOL] = {"BOOL", sizeof(int32_t), false},
    [HR_ARG_TYPE_INT] = {"INT", sizeof(int32_t), false},
    [HR_ARG_TYPE_INT64] = {"INT64", sizeof(int64_t), false},
    [HR_ARG_TYPE_FLOAT] = {"FLOAT", sizeof(float), false},
    [HR_ARG_TYPE_STRING] = {"STRING", sizeof(const char *), false},
    [HR_ARG_TYPE_LAYOUT] = {"LAYOUT", sizeof(const char *), false},
    [HR_ARG_TYPE_DTYPE] = {"DTYPE", sizeof(int32_t), false},
    [HR_ARG_TYPE_IMAGE_TYPE] = {"IMAGE_TYPE", sizeof(int32_t), false},
    [HR_ARG_TYPE_INTERP] = {"INTERP", sizeof(int32_t), false},
    [HR_ARG_TYPE_INTS] = {"INTS", sizeof(hr_ints), true},
    [HR_ARG_TYPE_INT64S] = {"INT64S", sizeof(hr_int64s), true},
    [HR_ARG_TYPE_FLOATS] = {"FLOATS", sizeof(hr_floats), true},
    [HR_ARG_TYPE_STRINGS] = {"STRINGS", sizeof(hr_strings), true},
    [HR_ARG_TYPE_JSON] = {"JSON", sizeof(const hr_json *), false},
};

static bool type_known(hr_arg_type type)
{
    return (int)type > HR_ARG_TYPE_END && (int)type < HR_ARG_TYPE_COUNT;
}

const char *hr__arg_type_name(hr_arg_type type)
{
    return type_known(type) ? types[type].name : "FUNCTION"; /* not a type of the engine */
}

bool hr__arg_type_is_list(hr_arg_type type)
{
    return type_known(type) && types[type].is_list;
}

size_t hr__arg_type_size(hr_arg_type type)
{
    return type_known(type) ? types[type].size : 0;
}

static const char *const image_names[HR_IMAGE_TYPE_COUNT] = {"RGB", "BGR", "GRAY", "YCbCr",
                                                             "ANY_DATA"};
static const char *const interp_names[HR_INTERP_COUNT] = {"INTERP_NN",         "INTERP_LINEAR",
                                                          "INTERP_CUBIC",      "INTERP_LANCZOS3",
                                                          "INTERP_TRIANGULAR", "INTERP_GAUSSIAN"};

const char *hr__enum_name(hr_arg_type type, int64_t value)
{
    if (value < 0)
        return NULL;
    if (type == HR_ARG_TYPE_DTYPE && (value < HR_DTYPE_COUNT || hr_dtype_is_enum((hr_dtype)value)))
        return hr_dtype_name((hr_dtype)value);
    if (type == HR_ARG_TYPE_IMAGE_TYPE && value < HR_IMAGE_TYPE_COUNT)
        return image_names[value];
    if (type == HR_ARG_TYPE_INTERP && value < HR_INTERP_COUNT)
        return interp_names[value];
    return NULL;
}

bool hr__enum_value(hr_arg_type type, const char *name, int32_t *value)
{
    for (int32_t i = 0; i <= HR_DTYPE_INTERP_TYPE; i++) { /* the greatest value of all */
        const char *known = hr__enum_name(type, i);
        if (known && strcmp(known, name) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

bool hr__value_is_list(const hr_value *value)
{
    return value->kind == HR_VALUE_INTS || value->kind == HR_VALUE_FLOATS ||
           value->kind == HR_VALUE_STRINGS;
}

hr_status hr__value_copy(hr_node *node, hr_value *out, const hr_value *value, hr_error *error)
{
    size_t n = (size_t)HR_MAX(value->count, 0);
    *out = *value;
    if (value->kind == HR_VALUE_STRING) {
        char *s = NULL;
        HR_TRY(hr__node_strdup(node, value->u.s, &s, error));
        out->u.s = s;
    } else if (value->kind == HR_VALUE_INTS || value->kind == HR_VALUE_FLOATS) {
        void *memory = hr__node_store(node, n + 1, sizeof(int64_t), error);
        HR_TRY_ALLOC(memory);
        if (n)
            memcpy(memory,
                   value->kind == HR_VALUE_INTS ? (const void *)value->u.ints : value->u.floats,
                   n * sizeof(int64_t));
        if (value->kind == HR_VALUE_INTS)
            out->u.ints = memory;
        else
            out->u.floats = memory;
    } else if (value->kind == HR_VALUE_STRINGS) {
        char **strings = hr__node_store(node, n + 1, sizeof(*strings), error);
        HR_TRY_ALLOC(strings);
        for (size_t i = 0; i < n; i++)
            HR_TRY(hr__node_strdup(node, value->u.strings[i], &strings[i], error));
        out->u.strings = (const char *const *)strings;
    }
    return HR_STATUS_OK;
}

/* A bounded line of text; what does not fit is dropped. */
typedef struct line {
    char *text;
    size_t size, used;
} line;

HR_PRINTF(2, 3) static void put(line *l, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (l->used + 1 < l->size) {
        int n = vsnprintf(l->text + l->used, l->size - l->used, fmt, args);
        if (n > 0)
            l->used = HR_MIN(l->used + (size_t)n, l->size - 1);
    }
    va_end(args);
}

static void put_double(line *l, double f)
{
    char text[32];
    snprintf(text, sizeof(text), "%.9g", f);
    put(l, "%s%s", text, strpbrk(text, ".enai") ? "" : ".0");
}

static void put_element(line *l, const hr_value *v, int32_t i)
{
    if (v->kind == HR_VALUE_INTS)
        put(l, "%" PRId64, v->u.ints[i]);
    else if (v->kind == HR_VALUE_FLOATS)
        put_double(l, v->u.floats[i]);
    else
        put(l, "\"%.60s\"", v->u.strings[i] ? v->u.strings[i] : "");
}

const char *hr__value_text(const hr_value *value, char *text, size_t size)
{
    line l = {text, size, 0};
    text[0] = '\0';
    switch (value->kind) {
    case HR_VALUE_BOOL:
        put(&l, "%s", value->u.i ? "True" : "False");
        break;
    case HR_VALUE_INT:
        put(&l, "%" PRId64, value->u.i);
        break;
    case HR_VALUE_FLOAT:
        put_double(&l, value->u.f);
        break;
    case HR_VALUE_STRING:
        put(&l, "\"%.100s\"", value->u.s ? value->u.s : "");
        break;
    case HR_VALUE_INTS:
    case HR_VALUE_FLOATS:
    case HR_VALUE_STRINGS:
        put(&l, "[");
        for (int32_t i = 0; i < value->count && i < 8; i++) {
            put(&l, "%s", i ? ", " : "");
            put_element(&l, value, i);
        }
        put(&l, "%s]", value->count > 8 ? ", ..." : "");
        break;
    case HR_VALUE_EDGE:
        put(&l, "output %d of node %d", value->u.edge.output, value->u.edge.node);
        break;
    }
    return text;
}
