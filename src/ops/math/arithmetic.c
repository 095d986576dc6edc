/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _arithmetic: one operator of an expression on data nodes. Types are promoted as in DALI, shapes
 * are broadcast as in NumPy. */
#include "ops/math/arithmetic.h"
#include "kernels/kernels.h"
#include "ops/math/elementwise.h"

#include <stdio.h>
#include <string.h>

typedef struct arithmetic_args {
    const char *op;
    int32_t const_side, const_type;
    int64_t ivalue;
    float fvalue;
} arithmetic_args;

#define NAME(id, text) [id] = (text),
static const char *const op_names[HR_MATH_OP_COUNT] = {HR_MATH_OPS(NAME)};

#define CHOICE(id, text) "|" text
static hr_math_op op_find(const char *name)
{
    int32_t op = 0;

    while (op < HR_MATH_OP_COUNT - 1 && strcmp(op_names[op], name) != 0)
        op++;
    return (hr_math_op)op;
}

static bool is_unary(hr_math_op op)
{
    return op >= HR_MATH_OP_NEG;
}

static bool is_comparison(hr_math_op op)
{
    return op >= HR_MATH_OP_EQ && op <= HR_MATH_OP_GE;
}

/* Integers are converted to FLOAT for these. */
static bool is_function(hr_math_op op)
{
    return op >= HR_MATH_OP_SQRT || op == HR_MATH_OP_DIV || op == HR_MATH_OP_FPOW ||
           op == HR_MATH_OP_ATAN2;
}

static bool is_bitwise(hr_math_op op)
{
    return (op >= HR_MATH_OP_AND && op <= HR_MATH_OP_RSHIFT) || op == HR_MATH_OP_INVERT;
}

/* The type to which both operands are converted. */
static hr_dtype promote(hr_dtype a, hr_dtype b)
{
    static const hr_dtype signed_of[] = {
        [1] = HR_DTYPE_INT8, [2] = HR_DTYPE_INT16, [4] = HR_DTYPE_INT32, [8] = HR_DTYPE_INT64};

    if (a == b || b == HR_DTYPE_BOOL)
        return a;
    if (a == HR_DTYPE_BOOL)
        return b;
    size_t sa = hr_dtype_size(a), sb = hr_dtype_size(b);
    if (hr_dtype_is_float(a) || hr_dtype_is_float(b))
        return hr_dtype_is_float(a) && (!hr_dtype_is_float(b) || sa > sb) ? a : b;
    if (hr_dtype_is_signed(a) == hr_dtype_is_signed(b))
        return sa > sb ? a : b;
    size_t s = hr_dtype_is_signed(a) ? sa : sb, u = hr_dtype_is_signed(a) ? sb : sa;
    return signed_of[HR_MIN(HR_MAX(s, 2 * u), 8)];
}

/* As users write it. */
static const char *symbol_of(hr_math_op op)
{
    static const char *const symbols[] = {
        [HR_MATH_OP_ADD] = "+",     [HR_MATH_OP_SUB] = "-",       [HR_MATH_OP_MUL] = "*",
        [HR_MATH_OP_DIV] = "/",     [HR_MATH_OP_FLOORDIV] = "//", [HR_MATH_OP_MOD] = "%",
        [HR_MATH_OP_AND] = "&",     [HR_MATH_OP_OR] = "|",        [HR_MATH_OP_XOR] = "^",
        [HR_MATH_OP_LSHIFT] = "<<", [HR_MATH_OP_RSHIFT] = ">>",   [HR_MATH_OP_NEG] = "-",
        [HR_MATH_OP_POS] = "+",     [HR_MATH_OP_INVERT] = "~",
    };
    const char *symbol = (size_t)op < HR_COUNT_OF(symbols) ? symbols[op] : NULL;

    return symbol ? symbol : op_names[op];
}

/* Scripts look for parts of these texts, so they are DALI's. */
static hr_status check_types(hr_math_op op, hr_dtype a, hr_dtype b, hr_error *error)
{
    bool bools = a == HR_DTYPE_BOOL && b == HR_DTYPE_BOOL;

    if (a == HR_DTYPE_FLOAT16 || b == HR_DTYPE_FLOAT16)
        return hr_fail(error, HR_STATUS_ERROR,
                       "arithmetic on FLOAT16 is not supported: cast first");
    if (is_bitwise(op) && (hr_dtype_is_float(a) || hr_dtype_is_float(b)))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Inputs to bitwise operator `%s` must be of integral type. Got %s: cast first",
            symbol_of(op), hr_dtype_name(hr_dtype_is_float(a) ? a : b));
    if (bools && !is_comparison(op) && !is_bitwise(op) && op != HR_MATH_OP_MUL &&
        op != HR_MATH_OP_POS)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Input%s to arithmetic operator `%s` cannot be %s. Consider using bitwise "
                       "operators `|`, `&`, `^`, `~`, a comparison, or a cast",
                       is_unary(op) ? "" : "s", symbol_of(op),
                       is_unary(op) ? "a boolean" : "booleans");
    return HR_STATUS_OK;
}

/* The state of a node: the operator, and the constant as a tensor without dimensions. */
typedef struct arithmetic_state {
    hr_math_op op;
    int32_t const_side, inputs;
    hr_tensor constant;
    union {
        int64_t i;
        double f;
    } value;
} arithmetic_state;

static hr_status arithmetic_create(const void *data, void **state, hr_error *error)
{
    const arithmetic_args *args = data;
    arithmetic_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->op = op_find(args->op);
    s->const_side = args->const_side;
    s->inputs = is_unary(s->op) || args->const_side >= 0 ? 1 : 2;
    hr_tensor_describe(&s->constant, (hr_dtype)args->const_type, (hr_shape){0}, NULL);
    if (args->const_side >= 0 && hr_dtype_is_float(s->constant.dtype))
        hr_convert(&s->value, s->constant.dtype, &args->fvalue, HR_DTYPE_FLOAT, 1);
    else if (args->const_side >= 0)
        hr_convert(&s->value, s->constant.dtype, &args->ivalue, HR_DTYPE_INT64, 1);
    s->constant.data = &s->value;
    *state = s;
    return HR_STATUS_OK;
}

/* An integer that a FLOAT cannot hold. */
static bool is_long(hr_dtype type)
{
    return hr_dtype_is_integer(type) && hr_dtype_size(type) >= 4;
}

/* The type in which elements are computed, if it is not the common type of the operands. */
static hr_dtype computing_type(const hr_arithmetic *o)
{
    bool exact = o->op == HR_MATH_OP_MOD || o->op == HR_MATH_OP_POW;

    /* Integers keep all their digits in this case. */
    return exact && o->common == HR_DTYPE_FLOAT && (is_long(o->a->dtype) || is_long(o->b->dtype))
               ? HR_DTYPE_FLOAT64
               : o->common;
}

static hr_status operands_get(const hr_op_call *c, hr_arithmetic *o, hr_error *error)
{
    const arithmetic_state *s = c->state;
    int32_t side = o->const_side = s->const_side;

    o->op = s->op;
    if (c->n_in != s->inputs || (is_unary(o->op) && side >= 0))
        return hr_fail(error, HR_STATUS_VALUE, "\"%s\" takes %d inputs, but %d were given",
                       op_names[o->op], (int)s->inputs, (int)c->n_in);
    o->a = side == 0 ? &s->constant : &c->in[0];
    o->b = is_unary(o->op) ? o->a : side == 1 ? &s->constant : &c->in[side == 0 ? 0 : 1];
    HR_TRY(check_types(o->op, o->a->dtype, o->b->dtype, error));
    o->common = promote(o->a->dtype, o->b->dtype);
    if (is_function(o->op) && !hr_dtype_is_float(o->common))
        o->common = HR_DTYPE_FLOAT;
    o->type = computing_type(o);
    o->result = is_comparison(o->op) ? HR_DTYPE_BOOL : o->common;
    o->mixed = is_comparison(o->op) && o->common == HR_DTYPE_INT64 &&
               (o->a->dtype == HR_DTYPE_UINT64) != (o->b->dtype == HR_DTYPE_UINT64);
    return HR_STATUS_OK;
}

/* "2 x 3 x 4" */
static const char *extents_text(const hr_shape *shape, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int32_t d = 0; d < shape->ndim && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? " x " : "",
                                 (long long)shape->extent[d]);
    return text;
}

static hr_status broadcast(const hr_op_call *c, const hr_shape *a, const hr_shape *b, hr_shape *out,
                           hr_error *error)
{
    char left[192], right[192];

    out->ndim = HR_MAX(a->ndim, b->ndim);
    for (int32_t d = 0; d < out->ndim; d++) { /* from the last dimension on */
        int64_t x = d < a->ndim ? a->extent[a->ndim - 1 - d] : 1;
        int64_t y = d < b->ndim ? b->extent[b->ndim - 1 - d] : 1;
        if (x != y && x != 1 && y != 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "Can't broadcast shapes: extents must be equal or 1\n"
                           "%s (d=%d, belonging to sample_idx=%d)\n"
                           "%s (d=%d, belonging to sample_idx=%d)",
                           extents_text(a, left, sizeof(left)), (int)(a->ndim - 1 - d),
                           (int)hr_task_index(c->task), extents_text(b, right, sizeof(right)),
                           (int)(b->ndim - 1 - d), (int)hr_task_index(c->task));
        out->extent[out->ndim - 1 - d] = x == 1 ? y : x;
    }
    return HR_STATUS_OK;
}

/* The longer layout, of which the shorter one must be the end. */
static hr_status join_layouts(const hr_tensor *a, const hr_tensor *b, const char **out,
                              hr_error *error)
{
    const char *x = a->layout.name, *y = b->layout.name;
    size_t nx = strlen(x), ny = strlen(y);

    *out = nx >= ny ? x : y;
    if (strcmp(nx >= ny ? x + nx - ny : y + ny - nx, nx >= ny ? y : x) == 0)
        return HR_STATUS_OK;
    return hr_fail(
        error, HR_STATUS_ERROR,
        "The layouts \"%s\" and \"%s\" do not match. They must be equal or one must be a suffix "
        "of the other",
        x, y);
}

static hr_status arithmetic_infer(hr_op_call *c, hr_error *error)
{
    const char *layout;
    hr_shape shape;
    hr_arithmetic *o = hr_arena_alloc(c->arena, sizeof(*o), error);

    HR_TRY_ALLOC(o);
    HR_TRY(operands_get(c, o, error));
    o->kernels = c->kernels;
    HR_TRY(broadcast(c, &o->a->shape, &o->b->shape, &shape, error));
    HR_TRY(join_layouts(o->a, o->b, &layout, error));
    hr_tensor_describe(&c->out[0], o->result, shape,
                       strlen(layout) == (size_t)shape.ndim ? layout : NULL);
    c->memo = o;
    return HR_STATUS_OK;
}

/* A call as loops over all its samples: `rows` rows of `columns` elements inside `count` outer
 * loops. Strides are in bytes; 0 where an operand is repeated. */
typedef struct loop {
    size_t extent, a, b;
} loop;

typedef struct walk {
    int32_t count;
    loop dim[HR_MAX_NDIM + 1]; /* the last two are rows and columns */
} walk;

/* An operand in the innermost two loops. */
typedef struct side {
    hr_dtype from, to;
    size_t row, column; /* strides */
    const void *ready;  /* already converted, because it is the same for all rows */
    _Alignas(8) uint8_t space[HR_MATH_RUN * 8];
} side;

static void side_init(side *s, hr_dtype from, hr_dtype to, size_t row, size_t column)
{
    s->from = from;
    s->to = to;
    s->row = row;
    s->column = column;
    s->ready = NULL; /* `space` is left uninitialised */
}

static bool same_bits(hr_dtype a, hr_dtype b) /* UINT64 as INT64 wraps */
{
    return a == b || (hr_dtype_size(a) == 8 && hr_dtype_size(b) == 8 && !hr_dtype_is_float(a) &&
                      !hr_dtype_is_float(b));
}

static void convert(void *to, hr_dtype type, const void *src, hr_dtype from, size_t n)
{
    if (same_bits(type, from))
        memcpy(to, src, n * hr_dtype_size(type));
    else
        hr_convert(to, type, src, from, n);
}

/* Repeats the first `have` elements of `size` bytes up to n elements. */
static void repeat(uint8_t *space, size_t size, size_t have, size_t n)
{
    for (; have < n; have *= 2)
        memcpy(space + have * size, space, HR_MIN(have, n - have) * size);
}

#define SPREAD(T)                                                                                  \
    for (size_t r = 0; r < rows; r++)                                                              \
        for (size_t k = 0; k < n; k++)                                                             \
    ((T *)space)[r * n + k] = ((const T *)from)[r]

/* Repeats each of `rows` elements n times. */
static void spread(void *space, size_t size, const void *from, size_t rows, size_t n)
{
    if (size == 1)
        SPREAD(uint8_t);
    else if (size == 2)
        SPREAD(uint16_t);
    else if (size == 4)
        SPREAD(uint32_t);
    else
        SPREAD(uint64_t);
}

/* `rows` rows of n elements at `src`, converted if necessary: either in place or in the space of
 * the operand. */
static const void *side_load(side *s, const uint8_t *src, size_t rows, size_t n)
{
    size_t size = hr_dtype_size(s->to);

    if (s->ready)
        return s->ready;
    if (s->column && (s->row || rows == 1)) {
        if (same_bits(s->to, s->from))
            return src;
        hr_convert(s->space, s->to, src, s->from, rows * n);
        return s->space;
    }
    if (s->row && rows > 1) {
        _Alignas(8) uint8_t first[HR_MATH_RUN * 8];
        convert(first, s->to, src, s->from, rows);
        spread(s->space, size, first, rows, n);
        return s->space;
    }
    convert(s->space, s->to, src, s->from, s->column ? n : 1);
    repeat(s->space, size, s->column ? n : 1, rows * n);
    s->ready = s->row ? NULL : s->space;
    return s->space;
}

static void run_mixed(const hr_arithmetic *o, uint8_t *out, const void *a, const void *b, size_t n)
{
    if (o->b->dtype == HR_DTYPE_UINT64)
        hr__math_compare_mixed(o->op, out, a, b, n);
    else
        hr__math_compare_mixed(math_turned(o->op), out, b, a, n);
}

#define SHORT(name, ...) [HR_MATH_OP_##name] = MATHX_SHORT_##name,

/* Runs functions that have loops per CPU level. false for other functions, and for numbers that
 * these loops do not handle. */
static bool run_kernel(const hr_arithmetic *o, void *out, const void *x, const void *y, size_t n)
{
    static const uint8_t short_of[HR_MATH_OP_COUNT] = {
        MATHX_SHORT_ONE(SHORT) MATHX_SHORT_TWO(SHORT)[HR_MATH_OP_FPOW] = MATHX_SHORT_POW};

    if (o->type != HR_DTYPE_FLOAT || !o->kernels)
        return false;
    if (short_of[o->op])
        return o->kernels->short_f32(short_of[o->op], out, x, y, n);
    if (o->op == HR_MATH_OP_SQRT)
        o->kernels->sqrt_f32(out, x, n);
    else if (o->op == HR_MATH_OP_EXP)
        o->kernels->exp_f32(out, x, n);
    else if (o->op == HR_MATH_OP_LOG)
        o->kernels->log_f32(out, x, n, 1.0);
    else if (o->op == HR_MATH_OP_LOG2)
        o->kernels->log_f32(out, x, n, MATH_LN2);
    else if (o->op == HR_MATH_OP_LOG10)
        o->kernels->log_f32(out, x, n, MATH_LN10);
    else
        return false;
    return true;
}

static hr_status run_elements(const hr_arithmetic *o, uint8_t *out, const void *x, const void *y,
                              size_t n, hr_error *error)
{
    _Alignas(8) uint8_t wide[HR_MATH_RUN * 8];

    if (run_kernel(o, out, x, y, n))
        return HR_STATUS_OK;
    if (o->mixed) {
        run_mixed(o, out, x, y, n);
    } else if (o->type != o->common) {
        HR_TRY(hr__math_apply(o->op, o->type, wide, x, y, n, error));
        hr_convert(out, o->result, wide, o->type, n);
    } else {
        HR_TRY(hr__math_apply(o->op, o->type, out, x, y, n, error));
    }
    if (o->type == HR_DTYPE_BOOL && o->op == HR_MATH_OP_INVERT) {
        for (size_t k = 0; k < n; k++)
            out[k] &= 1;
    } else if (o->type == HR_DTYPE_BOOL && o->op == HR_MATH_OP_LSHIFT) {
        for (size_t k = 0; k < n; k++)
            out[k] = out[k] != 0; /* True << True is 2, which is True */
    }
    return HR_STATUS_OK;
}

/* The innermost two loops: several short rows at a time, long rows in pieces. */
static hr_status run_rows(const hr_arithmetic *o, const walk *w, uint8_t **out, const uint8_t *a,
                          const uint8_t *b, hr_error *error)
{
    const size_t rows = w->dim[w->count].extent, columns = w->dim[w->count + 1].extent;
    const size_t block = HR_MAX(HR_MATH_RUN / columns, 1);
    side left, right;

    side_init(&left, o->a->dtype, o->type, w->dim[w->count].a, w->dim[w->count + 1].a);
    side_init(&right, o->b->dtype, o->type, w->dim[w->count].b, w->dim[w->count + 1].b);
    for (size_t r = 0; r < rows; r += block) {
        size_t high = HR_MIN(rows - r, block);
        for (size_t i = 0; i < columns; i += HR_MATH_RUN) {
            size_t n = HR_MIN(columns - i, HR_MATH_RUN);
            const void *x = side_load(&left, a + r * left.row + i * left.column, high, n);
            const void *y = is_unary(o->op)
                                ? x
                                : side_load(&right, b + r * right.row + i * right.column, high, n);
            HR_TRY(run_elements(o, *out, x, y, high * n, error));
            *out += high * n * hr_dtype_size(o->result);
        }
    }
    return HR_STATUS_OK;
}

static hr_status run_outer(const hr_arithmetic *o, const walk *w, int32_t d, uint8_t **out,
                           const uint8_t *a, const uint8_t *b, hr_error *error)
{
    if (d == w->count)
        return run_rows(o, w, out, a, b, error);
    for (size_t i = 0; i < w->dim[d].extent; i++)
        HR_TRY(run_outer(o, w, d + 1, out, a + i * w->dim[d].a, b + i * w->dim[d].b, error));
    return HR_STATUS_OK;
}

/* Stride in bytes along dimension d of the output; 0 where the operand is repeated. */
static size_t stride(const hr_tensor *t, const hr_shape *out, int32_t d)
{
    int32_t own = d - (out->ndim - t->shape.ndim);
    size_t bytes = hr_dtype_size(t->dtype);

    if (own < 0 || t->shape.extent[own] == 1)
        return 0;
    for (int32_t k = own + 1; k < t->shape.ndim; k++)
        bytes *= (size_t)t->shape.extent[k];
    return bytes;
}

/* Adds a loop inside the others, or extends the innermost one. */
static void walk_add(walk *w, size_t extent, size_t a, size_t b)
{
    if (extent == 1)
        return;
    const loop *outer = w->count > 0 ? &w->dim[w->count - 1] : NULL;
    if (outer && outer->a == a * extent &&
        outer->b == b * extent) { /* both are contiguous or repeated */
        extent *= outer->extent;
        w->count--;
    }
    w->dim[w->count++] = (loop){extent, a, b};
}

/* Bytes between samples; 0 for a constant. */
static size_t sample_bytes(const hr_op_call *c, const hr_tensor *t)
{
    size_t bytes = 0;

    hr_tensor_bytes(t, &bytes);
    return t == &((const arithmetic_state *)c->state)->constant ? 0 : bytes;
}

static hr_status arithmetic_run(hr_op_call *c, hr_error *error)
{
    const hr_arithmetic *o = c->memo;
    const hr_shape *shape = &c->out[0].shape;
    uint8_t *out = c->out[0].data;
    walk w = {0};

    if (sample_bytes(c, &c->out[0]) == 0)
        return HR_STATUS_OK;
    walk_add(&w, (size_t)c->count, sample_bytes(c, o->a), sample_bytes(c, o->b));
    for (int32_t d = 0; d < shape->ndim; d++)
        walk_add(&w, (size_t)shape->extent[d], stride(o->a, shape, d), stride(o->b, shape, d));
    for (; w.count < 2; w.count++) { /* a single row or element */
        w.dim[1] = w.count == 1 ? w.dim[0] : (loop){1, 0, 0};
        w.dim[0] = (loop){1, 0, 0};
    }
    w.count -= 2;
    return run_outer(o, &w, 0, &out, o->a->data, o->b->data, error);
}

const hr_op_def hr_op_arithmetic = {
    HR_OP("_arithmetic"),
    .doc = "Applies one operator or function to the elements of one or two tensors, or of a tensor "
           "and a constant. Integers wrap. Integer division truncates towards zero. `/` and "
           "functions of integers return FLOAT. Comparisons return BOOL and compare by value.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(
        arithmetic_args,
        HR_ARG(arithmetic_args, op, STRING, HR_ARG_REQUIRED, NULL, "The operator.",
               .choices = &HR_MATH_OPS(CHOICE)[1]),
        HR_ARG(arithmetic_args, const_side, INT, 0, "-1",
               "Which operand is a constant: 0 the left one, 1 the right one, -1 neither.",
               .min = -1, .max = 1),
        HR_ARG(arithmetic_args, const_type, DTYPE, 0, "INT32", "Type of the constant."),
        HR_ARG(arithmetic_args, ivalue, INT64, 0, "0", "The constant, if its type is not a float."),
        HR_ARG(arithmetic_args, fvalue, FLOAT, HR_ARG_NONFINITE, "0.0",
               "The constant, if its type is a float.")),
    .in = HR_INPUTS({.name = "left"}, {.name = "right"}),
    .in_min = 1,
    .create = arithmetic_create,
    .destroy = hr_free,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
};
