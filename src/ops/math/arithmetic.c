/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _arithmetic: one operator of an expression on data nodes. Promotion of types as DALI's,
 * broadcasting as NumPy's. */
#include "ops/math/arithmetic.h"
#include "ops/math/elementwise.h"

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
static const hr_arg_def arithmetic_arg_defs[] = {
    HR_ARG(arithmetic_args, op, STRING, HR_ARG_REQUIRED, NULL, "The operator.",
           .choices = &HR_MATH_OPS(CHOICE)[1]),
    HR_ARG(arithmetic_args, const_side, INT, 0, "-1",
           "Which operand is a constant: 0 the left one, 1 the right one, -1 none.", .min = -1,
           .max = 1),
    HR_ARG(arithmetic_args, const_type, DTYPE, 0, "INT32", "Type of the constant."),
    HR_ARG(arithmetic_args, ivalue, INT64, 0, "0", "The constant, if its type is no float."),
    HR_ARG(arithmetic_args, fvalue, FLOAT, HR_ARG_NONFINITE, "0.0",
           "The constant, if its type is a float."),
    HR_ARG_END};

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

/* Integers become FLOAT before these. */
static bool is_function(hr_math_op op)
{
    return op >= HR_MATH_OP_SQRT || op == HR_MATH_OP_DIV || op == HR_MATH_OP_FPOW ||
           op == HR_MATH_OP_ATAN2;
}

static bool is_bitwise(hr_math_op op)
{
    return (op >= HR_MATH_OP_AND && op <= HR_MATH_OP_RSHIFT) || op == HR_MATH_OP_INVERT;
}

/* The type that both operands become. */
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

static hr_status check_types(hr_math_op op, hr_dtype a, hr_dtype b, hr_error *error)
{
    bool bools = a == HR_DTYPE_BOOL && b == HR_DTYPE_BOOL;

    if (a == HR_DTYPE_FLOAT16 || b == HR_DTYPE_FLOAT16)
        return hr_fail(error, HR_STATUS_ERROR,
                       "arithmetic on FLOAT16 is not supported: cast first");
    if (is_bitwise(op) && (hr_dtype_is_float(a) || hr_dtype_is_float(b)))
        return hr_fail(error, HR_STATUS_ERROR, "\"%s\" works on integers, not on %s", op_names[op],
                       hr_dtype_name(hr_dtype_is_float(a) ? a : b));
    if (bools && !is_comparison(op) && op != HR_MATH_OP_MUL && op != HR_MATH_OP_AND &&
        op != HR_MATH_OP_OR && op != HR_MATH_OP_XOR && op != HR_MATH_OP_POS &&
        op != HR_MATH_OP_INVERT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "\"%s\" does not work on BOOL: cast first, or use *, &, |, ^, ~ or a "
                       "comparison",
                       op_names[op]);
    return HR_STATUS_OK;
}

/* Of a node: the operator, and the constant as a tensor without dimensions. */
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
    if (!s)
        return HR_STATUS_NO_MEMORY;
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

/* The type that elements are computed in, where it is not the one that both operands become. */
static hr_dtype computing_type(const hr_arithmetic *o)
{
    bool exact = (o->op == HR_MATH_OP_MOD || o->op == HR_MATH_OP_POW) && o->a->dtype != o->b->dtype;

    /* Integers keep all their digits there. */
    return exact && o->common == HR_DTYPE_FLOAT ? HR_DTYPE_FLOAT64 : o->common;
}

static hr_status operands_get(const hr_op_call *c, hr_arithmetic *o, hr_error *error)
{
    const arithmetic_state *s = c->state;
    int32_t side = o->const_side = s->const_side;

    o->op = s->op;
    if (c->n_in != s->inputs || (is_unary(o->op) && side >= 0))
        return hr_fail(error, HR_STATUS_VALUE, "\"%s\" takes %d inputs, %d were given",
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

static hr_status broadcast(const hr_shape *a, const hr_shape *b, hr_shape *out, hr_error *error)
{
    char left[128], right[128];

    out->ndim = HR_MAX(a->ndim, b->ndim);
    for (int32_t d = 0; d < out->ndim; d++) { /* from the last dimension on */
        int64_t x = d < a->ndim ? a->extent[a->ndim - 1 - d] : 1;
        int64_t y = d < b->ndim ? b->extent[b->ndim - 1 - d] : 1;
        if (x != y && x != 1 && y != 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "shapes %s and %s do not go together: extents must be equal or 1",
                           hr_shape_text(a, left, sizeof(left)),
                           hr_shape_text(b, right, sizeof(right)));
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
    return hr_fail(error, HR_STATUS_ERROR,
                   "layouts \"%s\" and \"%s\" do not go together: one must be the end of the other",
                   x, y);
}

static hr_status arithmetic_infer(hr_op_call *c, hr_error *error)
{
    const char *layout;
    hr_shape shape;
    hr_arithmetic *o = hr_arena_alloc(c->arena, sizeof(*o), error);

    if (!o)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(operands_get(c, o, error));
    HR_TRY(broadcast(&o->a->shape, &o->b->shape, &shape, error));
    HR_TRY(join_layouts(o->a, o->b, &layout, error));
    hr_tensor_describe(&c->out[0], o->result, shape,
                       strlen(layout) == (size_t)shape.ndim ? layout : NULL);
    c->memo = o;
    return HR_STATUS_OK;
}

/* n elements at `src`, or the one there n times when `step` is 0, as `type`: where they lie, or in
 * `space`. */
static const void *load(void *space, hr_dtype type, const void *src, hr_dtype from, size_t n,
                        int step)
{
    size_t size = hr_dtype_size(type);
    bool same = type == from || (size == 8 && hr_dtype_size(from) == 8 &&
                                 !hr_dtype_is_float(type) && !hr_dtype_is_float(from));

    if (same && step)
        return src; /* UINT64 as INT64 wraps */
    if (same)
        memcpy(space, src, size);
    else
        hr_convert(space, type, src, from, step ? n : 1);
    for (size_t have = 1; !step && have < n; have *= 2)
        memcpy((uint8_t *)space + have * size, space, HR_MIN(have, n - have) * size);
    return space;
}

/* What an operand was converted to, kept from run to run while it is one element that repeats. */
typedef struct side {
    const hr_tensor *tensor;
    int step;
    const void *repeated;
    _Alignas(8) uint8_t space[HR_MATH_RUN * 8];
} side;

static void side_init(side *s, const hr_tensor *tensor, int step)
{
    s->tensor = tensor;
    s->step = step;
    s->repeated = NULL;
}

static const void *side_load(side *s, hr_dtype type, const uint8_t *src, size_t i, size_t n)
{
    if (!s->step && s->repeated)
        return s->repeated;
    src += s->step ? i * hr_dtype_size(s->tensor->dtype) : 0;
    const void *loaded = load(s->space, type, src, s->tensor->dtype, n, s->step);
    if (!s->step)
        s->repeated = loaded;
    return loaded;
}

static void run_mixed(const hr_arithmetic *o, uint8_t *out, const void *a, const void *b, size_t n)
{
    if (o->b->dtype == HR_DTYPE_UINT64)
        hr__math_compare_mixed(o->op, out, a, b, n);
    else
        hr__math_compare_mixed(math_turned(o->op), out, b, a, n);
}

static hr_status run_row(const hr_arithmetic *o, uint8_t *out, const uint8_t *a, int step_a,
                         const uint8_t *b, int step_b, size_t n, hr_error *error)
{
    side left, right; /* their space is not worth zeroing */
    size_t size = hr_dtype_size(o->result);
    hr_dtype type = o->type;

    side_init(&left, o->a, step_a);
    side_init(&right, o->b, step_b);
    for (size_t i = 0; i < n; i += HR_MATH_RUN, out += HR_MATH_RUN * size) {
        size_t count = HR_MIN(n - i, HR_MATH_RUN);
        const void *x = side_load(&left, type, a, i, count);
        const void *y = is_unary(o->op) ? x : side_load(&right, type, b, i, count);
        _Alignas(8) uint8_t wide[HR_MATH_RUN * 8];
        if (o->mixed) {
            run_mixed(o, out, x, y, count);
        } else if (type != o->common) {
            HR_TRY(hr__math_apply(o->op, type, wide, x, y, count, error));
            hr_convert(out, o->result, wide, type, count);
        } else {
            HR_TRY(hr__math_apply(o->op, type, out, x, y, count, error));
        }
        for (size_t k = 0; o->op == HR_MATH_OP_INVERT && type == HR_DTYPE_BOOL && k < count; k++)
            out[k] &= 1;
    }
    return HR_STATUS_OK;
}

/* Bytes to the next element of dimension d of the output; 0 where the operand is repeated. */
static void strides(const hr_tensor *t, const hr_shape *out, size_t *stride)
{
    size_t step = hr_dtype_size(t->dtype);

    for (int32_t d = out->ndim - 1; d >= 0; d--) {
        int32_t own = d - (out->ndim - t->shape.ndim);
        stride[d] = own < 0 || t->shape.extent[own] == 1 ? 0 : step;
        step *= own < 0 ? 1 : (size_t)t->shape.extent[own];
    }
}

static hr_status run_dim(const hr_arithmetic *o, const hr_shape *shape, int32_t d, uint8_t **out,
                         const uint8_t *a, const size_t *sa, const uint8_t *b, const size_t *sb,
                         hr_error *error)
{
    if (d == shape->ndim - 1) {
        size_t n = (size_t)shape->extent[d];
        HR_TRY(run_row(o, *out, a, sa[d] != 0, b, sb[d] != 0, n, error));
        *out += n * hr_dtype_size(o->result);
        return HR_STATUS_OK;
    }
    for (int64_t i = 0; i < shape->extent[d]; i++)
        HR_TRY(run_dim(o, shape, d + 1, out, a + (size_t)i * sa[d], sa, b + (size_t)i * sb[d], sb,
                       error));
    return HR_STATUS_OK;
}

static hr_status run_sample(const hr_arithmetic *o, const hr_shape *shape, uint8_t *out,
                            const uint8_t *a, const uint8_t *b, hr_error *error)
{
    size_t sa[HR_MAX_NDIM], sb[HR_MAX_NDIM], count = 0, na = 0, nb = 0;

    hr_shape_volume(shape, &count);
    hr_shape_volume(&o->a->shape, &na);
    hr_shape_volume(&o->b->shape, &nb);
    if ((na == count || na == 1) && (nb == count || nb == 1))
        return run_row(o, out, a, na != 1, b, nb != 1, count, error);
    strides(o->a, shape, sa);
    strides(o->b, shape, sb);
    return run_dim(o, shape, 0, &out, a, sa, b, sb, error);
}

/* Bytes from a sample to the next; a constant is there once. */
static size_t sample_bytes(const hr_op_call *c, const hr_tensor *t)
{
    size_t bytes = 0;

    hr_tensor_bytes(t, &bytes);
    return t == &((const arithmetic_state *)c->state)->constant ? 0 : bytes;
}

static hr_status arithmetic_call(hr_op_call *c, hr_error *error)
{
    const hr_arithmetic *o = c->memo;
    size_t na = sample_bytes(c, o->a), nb = sample_bytes(c, o->b), n = sample_bytes(c, &c->out[0]);
    uint8_t *out = c->out[0].data;
    const uint8_t *a = o->a->data, *b = o->b->data;
    bool flat_a = na == 0 || hr_shape_equal(&o->a->shape, &c->out[0].shape);
    bool flat_b = nb == 0 || hr_shape_equal(&o->b->shape, &c->out[0].shape);
    if (n == 0)
        return HR_STATUS_OK;
    if (flat_a && flat_b) /* all samples are one row */
        return run_row(o, out, a, na > 0, b, nb > 0,
                       (size_t)c->count * (n / hr_dtype_size(o->result)), error);
    for (int32_t i = 0; i < c->count; i++, out += n, a += na, b += nb)
        HR_TRY(run_sample(o, &c->out[0].shape, out, a, b, error));
    return HR_STATUS_OK;
}

static hr_status arithmetic_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(arithmetic_call(&calls[i], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_arithmetic = {
    HR_OP_ABI,
    .name = "_arithmetic",
    .doc = "One operator or function on the elements of one or two tensors, or of a tensor and a "
           "constant. Integers wrap; integer division truncates towards zero; `/` and functions on "
           "integers give FLOAT; comparisons give BOOL and compare by value.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_COLUMNS,
    .args = arithmetic_arg_defs,
    .args_size = sizeof(arithmetic_args),
    .in = {{.name = "left"}, {.name = "right"}},
    .in_min = 1,
    .in_max = 2,
    .out = {{"output"}},
    .out_count = 1,
    .create = arithmetic_create,
    .destroy = hr_free,
    .infer = arithmetic_infer,
    .run_cpu = arithmetic_run,
};
