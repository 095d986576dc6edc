/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* One conversion for constants, defaults and per-sample values. It never loses information
 * silently; errors name the value and what is allowed. */
#include "graph/value.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An element being converted. */
typedef struct element {
    enum { ELEMENT_INT, ELEMENT_FLOAT, ELEMENT_STRING } kind;
    int64_t i;
    double f;
    const char *s;
} element;

static const char *given_text(const hr__conversion *c, char *text, size_t size)
{
    if (c->value)
        return hr__value_text(c->value, text, size);
    char shape[64];
    size_t n = 0;
    if (c->tensor->data && hr_shape_volume(&c->tensor->shape, &n) && n == 1) {
        double f = hr_element_double(c->tensor->data, c->tensor->dtype, 0);
        snprintf(text, size, "%.9g (%s)", f, hr_dtype_name(c->tensor->dtype));
    } else {
        snprintf(text, size, "a tensor of %s of shape %s", hr_dtype_name(c->tensor->dtype),
                 c->tensor->shape.ndim ? hr_shape_text(&c->tensor->shape, shape, sizeof(shape))
                                       : "()");
    }
    return text;
}

/* Fails with `status`, or with ERROR for a per-sample value, which fails at run time. */
HR_PRINTF(4, 5)
static hr_status refuse(const hr__conversion *c, hr_error *error, hr_status status, const char *fmt,
                        ...)
{
    char node[HR_NODE_TEXT_SIZE], value[256], why[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    return hr_fail(error, c->tensor ? HR_STATUS_ERROR : status, "%s: argument \"%s\": %s; got %s",
                   hr_node_text(c->node, node, sizeof(node)), c->arg->name, why,
                   given_text(c, value, sizeof(value)));
}

static int32_t source_count(const hr__conversion *c)
{
    size_t n = 0;
    if (c->tensor)
        return hr_shape_volume(&c->tensor->shape, &n) && n <= INT32_MAX ? (int32_t)n : -1;
    return hr__value_is_list(c->value) ? c->value->count : 1;
}

static element element_get(const hr__conversion *c, int32_t i)
{
    element e = {ELEMENT_INT, 0, 0.0, NULL};
    if (c->tensor) {
        bool is_float = hr_dtype_is_float(c->tensor->dtype);
        e.kind = is_float ? ELEMENT_FLOAT : ELEMENT_INT;
        if (is_float)
            e.f = hr_element_double(c->tensor->data, c->tensor->dtype, (size_t)i);
        else
            e.i = hr_element_int(c->tensor->data, c->tensor->dtype, (size_t)i);
        return e;
    }
    const hr_value *v = c->value;
    switch (v->kind) {
    case HR_VALUE_BOOL:
        e.i = v->u.i != 0;
        break;
    case HR_VALUE_INT:
        e.i = v->u.i;
        break;
    case HR_VALUE_INTS:
        e.i = v->u.ints[i];
        break;
    case HR_VALUE_FLOAT:
    case HR_VALUE_FLOATS:
        e.kind = ELEMENT_FLOAT;
        e.f = v->kind == HR_VALUE_FLOAT ? v->u.f : v->u.floats[i];
        break;
    case HR_VALUE_STRING:
    case HR_VALUE_STRINGS:
        e.kind = ELEMENT_STRING;
        e.s = v->kind == HR_VALUE_STRING ? v->u.s : v->u.strings[i];
        break;
    case HR_VALUE_EDGE:
        break;
    }
    return e;
}

static bool ranged(const hr__conversion *c)
{
    return !c->trusted && (c->arg->min != 0.0 || c->arg->max != 0.0);
}

/* "between 0 and 1", "at least 1": limits that no value of the type can reach are not mentioned. */
static const char *range_text(const hr_arg_def *arg, char *text, size_t size)
{
    if (arg->max >= INT32_MAX)
        snprintf(text, size, "at least %.9g", arg->min);
    else if (arg->min <= INT32_MIN)
        snprintf(text, size, "at most %.9g", arg->max);
    else
        snprintf(text, size, "between %.9g and %.9g", arg->min, arg->max);
    return text;
}

static hr_status integer_get(const hr__conversion *c, const element *e, int64_t lo, int64_t hi,
                             int64_t *out, hr_error *error)
{
    char range[64];
    if (e->kind == ELEMENT_STRING) /* as Python's int() and DALI do for text */
        return refuse(c, error, HR_STATUS_VALUE, "must be an integer");
    int64_t v = e->i;
    if (e->kind == ELEMENT_FLOAT) {
        /* 2^63 is a double, 2^63 - 1 is not; NaN fails the comparisons. */
        if (!(e->f >= -9223372036854775808.0 && e->f < 9223372036854775808.0) ||
            e->f != floor(e->f))
            return refuse(c, error, HR_STATUS_TYPE, "must be an integer");
        v = (int64_t)e->f;
    }
    if (v < lo || v > hi)
        return refuse(c, error, HR_STATUS_VALUE, "must be between %" PRId64 " and %" PRId64, lo,
                      hi);
    if (ranged(c) && !((double)v >= c->arg->min && (double)v <= c->arg->max))
        return refuse(c, error, HR_STATUS_ERROR, "must be %s",
                      range_text(c->arg, range, sizeof(range)));
    *out = v;
    return HR_STATUS_OK;
}

static hr_status float_get(const hr__conversion *c, const element *e, float *out, hr_error *error)
{
    char range[64];
    if (e->kind == ELEMENT_STRING)
        return refuse(c, error, HR_STATUS_VALUE, "must be a number");
    double v = e->kind == ELEMENT_FLOAT ? e->f : (double)e->i;
    bool any = c->trusted || (c->arg->flags & HR_ARG_NONFINITE);
    if (!any && v != v)
        return refuse(c, error, HR_STATUS_VALUE, "must be a number, not NaN");
    if (!any && !(v >= -FLT_MAX && v <= FLT_MAX))
        return refuse(c, error, HR_STATUS_VALUE, "must be a finite number that a float can hold");
    /* Out of range, the conversion is undefined in C; IEEE 754 gives infinities. */
    float f = v > FLT_MAX ? INFINITY : v < -FLT_MAX ? -INFINITY : (float)v;
    /* Compared as floats, so that a per-sample 0.1 equals the 0.1 of the table. */
    if (ranged(c) && !(f >= (float)c->arg->min && f <= (float)c->arg->max))
        return refuse(c, error, HR_STATUS_ERROR, "must be %s",
                      range_text(c->arg, range, sizeof(range)));
    *out = f;
    return HR_STATUS_OK;
}

/* Whether a value of an enumeration is allowed. Most operators only make and take numbers. */
static bool enum_allowed(const hr__conversion *c, int64_t v)
{
    if (v == -1)
        return c->arg->flags & (HR_ARG_OPTIONAL | HR_ARG_ANY_TYPE);
    bool numbers = c->arg->type == HR_ARG_TYPE_DTYPE && !(c->node->def->flags & HR_OP_ENUMS);
    return hr__enum_name(c->arg->type, v) && !(numbers && hr_dtype_is_enum((hr_dtype)v));
}

static hr_status enum_get(const hr__conversion *c, const element *e, int32_t *out, hr_error *error)
{
    hr_arg_type type = c->arg->type;
    int32_t named = 0;
    bool known = e->kind == ELEMENT_STRING && e->s && hr__enum_value(type, e->s, &named);
    int64_t v = known ? named : e->i;
    bool whole = known || e->kind == ELEMENT_INT;
    if (whole && enum_allowed(c, v)) {
        *out = (int32_t)v;
        return HR_STATUS_OK;
    }
    char names[256] = "";
    size_t used = 0;
    for (int32_t i = 0; hr__enum_name(type, i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 hr__enum_name(type, i));
    hr_status status = e->kind == ELEMENT_FLOAT          ? HR_STATUS_TYPE
                       : whole && hr__enum_name(type, v) ? HR_STATUS_ERROR
                                                         : HR_STATUS_VALUE;
    return refuse(c, error, status, "must be one of %s", names);
}

/* Whether `s` is among "a|b|c". */
static bool choice_allowed(const char *choices, const char *s)
{
    size_t size = strlen(s);
    for (const char *p = choices; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        if (strncmp(p, s, size) == 0 && (p[size] == '|' || p[size] == '\0'))
            return true;
    }
    return false;
}

static hr_status string_check(const hr__conversion *c, const element *e, hr_error *error)
{
    if (e->kind != ELEMENT_STRING || !e->s)
        return refuse(c, error, HR_STATUS_TYPE, "must be a string");
    if (!c->trusted && c->arg->choices && !choice_allowed(c->arg->choices, e->s))
        return refuse(c, error, HR_STATUS_ERROR, "must be one of %s", c->arg->choices);
    if (c->arg->type == HR_ARG_TYPE_LAYOUT) {
        hr_layout layout;
        hr_error why = {0};
        if (hr_layout_set(&layout, e->s, &why) != HR_STATUS_OK)
            return refuse(c, error, HR_STATUS_VALUE, "must be a layout (%s)", why.message);
    }
    return HR_STATUS_OK;
}

static void *memory_take(const hr__conversion *c, size_t count, size_t size, hr_error *error)
{
    size_t bytes = 0;
    if (c->store)
        return hr__node_store(c->store, count, size, error);
    if (!hr_size_mul(count, size, &bytes)) {
        hr_fail_memory(error, SIZE_MAX);
        return NULL;
    }
    return hr_arena_alloc(c->arena, bytes, error);
}

/* A per-sample string is a list of bytes. */
static hr_status string_from_tensor(const hr__conversion *c, const char **out, hr_error *error)
{
    int32_t n = source_count(c);
    if (c->tensor->dtype != HR_DTYPE_UINT8 || n < 0)
        return refuse(c, error, HR_STATUS_TYPE, "must be a string (a tensor of UINT8)");
    char *text = memory_take(c, (size_t)n + 1, 1, error);
    HR_TRY_ALLOC(text);
    if (n)
        memcpy(text, c->tensor->data, (size_t)n);
    text[n] = '\0';
    element e = {ELEMENT_STRING, 0, 0.0, text};
    HR_TRY(string_check(c, &e, error));
    *out = text;
    return HR_STATUS_OK;
}

static hr_status string_get(const hr__conversion *c, const element *e, const char **out,
                            hr_error *error)
{
    HR_TRY(string_check(c, e, error));
    size_t size = strlen(e->s) + 1;
    char *text = memory_take(c, size, 1, error);
    HR_TRY_ALLOC(text);
    memcpy(text, e->s, size);
    *out = text;
    return HR_STATUS_OK;
}

static hr_status scalar_convert(const hr__conversion *c, void *field, hr_error *error)
{
    int64_t v = 0;
    bool as_bytes = c->arg->type == HR_ARG_TYPE_STRING || c->arg->type == HR_ARG_TYPE_LAYOUT;
    if (c->tensor && as_bytes)
        return string_from_tensor(c, field, error);
    if (c->value && hr__value_is_list(c->value) && as_bytes && c->arg->choices)
        return refuse(c, error, HR_STATUS_ERROR, "must be one of %s, not a list", c->arg->choices);
    if (c->value && hr__value_is_list(c->value))
        return refuse(c, error, HR_STATUS_TYPE, "must be one value, not a list");
    if (c->tensor && source_count(c) != 1)
        return refuse(c, error, HR_STATUS_TYPE, "must be one value per sample");
    element e = element_get(c, 0);
    switch (c->arg->type) {
    case HR_ARG_TYPE_BOOL:
        HR_TRY(integer_get(c, &e, INT64_MIN, INT64_MAX, &v, error));
        *(int32_t *)field = v != 0;
        return HR_STATUS_OK;
    case HR_ARG_TYPE_INT:
        HR_TRY(integer_get(c, &e, INT32_MIN, INT32_MAX, &v, error));
        *(int32_t *)field = (int32_t)v;
        return HR_STATUS_OK;
    case HR_ARG_TYPE_INT64:
        return integer_get(c, &e, INT64_MIN, INT64_MAX, field, error);
    case HR_ARG_TYPE_FLOAT:
        return float_get(c, &e, field, error);
    case HR_ARG_TYPE_DTYPE:
    case HR_ARG_TYPE_IMAGE_TYPE:
    case HR_ARG_TYPE_INTERP:
        return enum_get(c, &e, field, error);
    default:
        return string_get(c, &e, field, error);
    }
}

static hr_status element_convert(const hr__conversion *c, int32_t i, void *v, hr_error *error)
{
    element e = element_get(c, i);
    int64_t wide = 0;
    switch (c->arg->type) {
    case HR_ARG_TYPE_INTS:
        HR_TRY(integer_get(c, &e, INT32_MIN, INT32_MAX, &wide, error));
        ((int32_t *)v)[i] = (int32_t)wide;
        return HR_STATUS_OK;
    case HR_ARG_TYPE_INT64S:
        return integer_get(c, &e, INT64_MIN, INT64_MAX, (int64_t *)v + i, error);
    case HR_ARG_TYPE_FLOATS:
        return float_get(c, &e, (float *)v + i, error);
    default:
        return string_get(c, &e, (const char **)v + i, error);
    }
}

static hr_status length_check(const hr__conversion *c, int32_t n, hr_error *error)
{
    const hr_arg_def *arg = c->arg;
    if (n < 0)
        return refuse(c, error, HR_STATUS_ERROR, "is too long");
    if (c->trusted || (arg->count_min == 0 && arg->count_max == 0))
        return HR_STATUS_OK;
    if (n >= arg->count_min && (n <= arg->count_max || arg->count_max == 0))
        return HR_STATUS_OK;
    if (arg->count_min == arg->count_max)
        return refuse(c, error, HR_STATUS_ERROR, "must have %d element%s", arg->count_min,
                      arg->count_min == 1 ? "" : "s");
    if (arg->count_max == 0)
        return refuse(c, error, HR_STATUS_ERROR, "must have at least %d element%s", arg->count_min,
                      arg->count_min == 1 ? "" : "s");
    return refuse(c, error, HR_STATUS_ERROR, "must have between %d and %d elements", arg->count_min,
                  arg->count_max);
}

static int32_t source_frames(const hr__conversion *c)
{
    bool frames = c->tensor && hr_layout_find(&c->tensor->layout, 'F') == 0;
    return frames ? (int32_t)HR_MIN(c->tensor->shape.extent[0], INT32_MAX) : 0;
}

static hr_status list_convert(const hr__conversion *c, void *field, hr_error *error)
{
    int32_t n = source_count(c);
    if (c->tensor && c->arg->type == HR_ARG_TYPE_STRINGS)
        return refuse(c, error, HR_STATUS_TYPE, "must be a constant, not a tensor");
    HR_TRY(length_check(c, n, error));
    /* One extra element, so that an empty list differs from an absent one (NULL). */
    void *v = memory_take(c, (size_t)n + 1, sizeof(int64_t), error);
    HR_TRY_ALLOC(v);
    for (int32_t i = 0; i < n; i++)
        HR_TRY(element_convert(c, i, v, error));
    switch (c->arg->type) {
    case HR_ARG_TYPE_INTS:
        *(hr_ints *)field = (hr_ints){v, n, source_frames(c)};
        break;
    case HR_ARG_TYPE_INT64S:
        *(hr_int64s *)field = (hr_int64s){v, n};
        break;
    case HR_ARG_TYPE_FLOATS:
        *(hr_floats *)field = (hr_floats){v, n, source_frames(c)};
        break;
    default:
        *(hr_strings *)field = (hr_strings){(const char *const *)v, n};
        break;
    }
    return HR_STATUS_OK;
}

/* HR_ARG_EXACT */
static hr_status exact_check(const hr__conversion *c, hr_error *error)
{
    bool list = hr__arg_type_is_list(c->arg->type);
    hr_dtype dtype = c->arg->type == HR_ARG_TYPE_FLOAT || c->arg->type == HR_ARG_TYPE_FLOATS
                         ? HR_DTYPE_FLOAT
                         : HR_DTYPE_INT32;
    if (c->tensor->shape.ndim != list)
        return refuse(c, error, HR_STATUS_ERROR,
                      "Input with dimension (%d) cannot be converted to dimension (%d)",
                      (int)c->tensor->shape.ndim, (int)list);
    if (c->tensor->dtype != dtype)
        return refuse(c, error, HR_STATUS_ERROR, "must be %s; this is %s", hr_dtype_name(dtype),
                      hr_dtype_name(c->tensor->dtype));
    return HR_STATUS_OK;
}

/* An argument of an enumeration takes tensors of exactly its type, and no other argument does. */
static hr_status tensor_enum_check(const hr__conversion *c, hr_error *error)
{
    hr_dtype wanted = c->arg->type == HR_ARG_TYPE_INTERP       ? HR_DTYPE_INTERP_TYPE
                      : c->arg->type == HR_ARG_TYPE_IMAGE_TYPE ? HR_DTYPE_IMAGE_TYPE
                      : c->arg->type == HR_ARG_TYPE_DTYPE      ? HR_DTYPE_DATA_TYPE
                                                               : HR_DTYPE_NONE;
    hr_dtype dtype = c->tensor->dtype;
    if (wanted == HR_DTYPE_NONE ? !hr_dtype_is_enum(dtype) : dtype == wanted)
        return HR_STATUS_OK;
    if (wanted == HR_DTYPE_NONE)
        return refuse(c, error, HR_STATUS_ERROR, "must be a number (use fn.cast), not %s",
                      hr_dtype_name(dtype));
    return refuse(c, error, HR_STATUS_ERROR, "must be of type %s (use fn.cast)",
                  hr_dtype_name(wanted));
}

hr_status hr__convert(const hr__conversion *c, void *field, hr_error *error)
{
    if (c->arg->type == HR_ARG_TYPE_JSON) /* never per sample */
        return hr__json_convert(c, field, error);
    if (c->tensor && c->tensor->dtype == HR_DTYPE_NONE)
        return refuse(c, error, HR_STATUS_TYPE, "must have an element type");
    if (c->tensor)
        HR_TRY(tensor_enum_check(c, error));
    if (c->tensor && (c->arg->flags & HR_ARG_EXACT))
        HR_TRY(exact_check(c, error));
    /* Operators that accept per-frame values have a list for them. */
    bool takes_frames = (c->arg->flags & HR_ARG_PER_FRAME) && hr__arg_type_is_list(c->arg->type);
    if (c->tensor && hr_layout_find(&c->tensor->layout, 'F') == 0 && !takes_frames)
        return refuse(c, error, HR_STATUS_NOT_IMPLEMENTED,
                      "values per frame are not supported by this version of Headrace");
    return hr__arg_type_is_list(c->arg->type) ? list_convert(c, field, error)
                                              : scalar_convert(c, field, error);
}

void hr__field_absent(const hr_arg_def *arg, void *field)
{
    switch (arg->type) {
    case HR_ARG_TYPE_FLOAT:
        *(float *)field = NAN;
        break;
    case HR_ARG_TYPE_INT64:
        *(int64_t *)field = -1;
        break;
    case HR_ARG_TYPE_STRING:
    case HR_ARG_TYPE_LAYOUT:
    case HR_ARG_TYPE_JSON:
    case HR_ARG_TYPE_INTS:
    case HR_ARG_TYPE_INT64S:
    case HR_ARG_TYPE_FLOATS:
    case HR_ARG_TYPE_STRINGS:
        memset(field, 0, hr__arg_type_size(arg->type));
        break;
    default:
        *(int32_t *)field = -1;
        break;
    }
}

static bool string_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool list_equal(const void *a, int32_t na, const void *b, int32_t nb, size_t size)
{
    if (!a || !b || na != nb)
        return !a && !b;
    return memcmp(a, b, (size_t)na * size) == 0;
}

static bool json_equal(const hr_json *a, const hr_json *b)
{
    return a == b || (a && b && hr_json_equal(a, b));
}

bool hr__field_equal(const hr_arg_def *arg, const void *a, const void *b)
{
    const hr_ints *ia = a, *ib = b;
    const hr_int64s *wa = a, *wb = b;
    const hr_floats *fa = a, *fb = b;
    const hr_strings *sa = a, *sb = b;
    switch (arg->type) {
    case HR_ARG_TYPE_STRING:
    case HR_ARG_TYPE_LAYOUT:
        return string_equal(*(const char *const *)a, *(const char *const *)b);
    case HR_ARG_TYPE_JSON:
        return json_equal(*(const hr_json *const *)a, *(const hr_json *const *)b);
    case HR_ARG_TYPE_INTS:
        return list_equal(ia->v, ia->n, ib->v, ib->n, sizeof(int32_t));
    case HR_ARG_TYPE_INT64S:
        return list_equal(wa->v, wa->n, wb->v, wb->n, sizeof(int64_t));
    case HR_ARG_TYPE_FLOATS:
        return list_equal(fa->v, fa->n, fb->v, fb->n, sizeof(float));
    case HR_ARG_TYPE_STRINGS:
        if (!sa->v || !sb->v || sa->n != sb->n)
            return !sa->v && !sb->v;
        for (int32_t i = 0; i < sa->n; i++) {
            if (!string_equal(sa->v[i], sb->v[i]))
                return false;
        }
        return true;
    default:
        return memcmp(a, b, hr__arg_type_size(arg->type)) == 0;
    }
}
