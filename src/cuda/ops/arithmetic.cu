// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// _arithmetic. An integer divided by zero gives 0, because a kernel cannot raise an error.
#include "ops/math/arithmetic.h"
#include "cuda/ops/quads.cuh"

namespace
{

template <typename T> HR_DEVICE T value_as(uint64_t v)
{
    return (T)v;
}
template <> HR_DEVICE float value_as<float>(uint64_t v)
{
    return bits_as_f32((uint32_t)v);
}
template <> HR_DEVICE double value_as<double>(uint64_t v)
{
    return bits_as_f64(v);
}

HR_DEVICE uint64_t value_from(float v)
{
    return bits_of_f32(v);
}
HR_DEVICE uint64_t value_from(double v)
{
    return bits_of_f64(v);
}

#define TRUTH(op, expression)                                                                      \
    case op:                                                                                       \
        return (expression);
#define INTEGER(op, expression)                                                                    \
    case op:                                                                                       \
        return (uint64_t)(expression);
#define FLOAT(op, expression)                                                                      \
    case op:                                                                                       \
        return value_from((T)(expression));
#define FUNCTION(op, function)                                                                     \
    case op:                                                                                       \
        return value_from((T)function((double)a));

template <typename T, typename U, bool is_signed>
HR_DEVICE uint64_t integers(int op, uint64_t left, uint64_t right)
{
    const T a = (T)left, b = (T)right;
    if ((op == HR_MATH_OP_FLOORDIV || op == HR_MATH_OP_MOD) && b == 0)
        return 0;
    switch (op) {
        HR_MATH_COMPARISONS(TRUTH)
        HR_MATH_INTEGERS_TWO(INTEGER, T, U, is_signed)
        HR_MATH_INTEGERS_ONE(INTEGER, T, U, is_signed)
    default:
        return 0;
    }
}

template <typename T> HR_DEVICE uint64_t floats(int op, uint64_t left, uint64_t right)
{
    const T a = value_as<T>(left), b = value_as<T>(right);
    switch (op) {
        HR_MATH_COMPARISONS(TRUTH)
        HR_MATH_FLOATS_TWO(FLOAT)
        HR_MATH_FLOATS_ONE(FLOAT, fabs)
    default:
        return 0;
    }
}

template <typename T> HR_DEVICE uint64_t dear_floats(int op, uint64_t left, uint64_t right)
{
    const T a = value_as<T>(left), b = value_as<T>(right);
    if (sizeof(T) == 4) {
        switch (op) {
            HR_MATH_FLOATS_DEAR(FLOAT, T, math_short_mod, math_short_pow, math_short_atan2)
            HR_MATH_FUNCTIONS_SHORT(FUNCTION)
        default:
            break;
        }
    }
    switch (op) {
        HR_MATH_FLOATS_DEAR(FLOAT, T, fmod, mathx_pow, math_atan2)
        HR_MATH_FUNCTIONS(FUNCTION)
    default:
        return 0;
    }
}

// Converts an operand to the computing type. UINT64 and INT64 have the same bits and are not
// converted to each other; a BOOL stays unchanged if the computing type is BOOL.
HR_SHARED uint64_t converted(uint64_t v, int from, int to)
{
    bool wraps = (from == HR_DTYPE_UINT64 || from == HR_DTYPE_INT64) &&
                 (to == HR_DTYPE_UINT64 || to == HR_DTYPE_INT64);
    return wraps || from == to ? v : value_convert(v, from, to);
}

struct operand {
    const char *data; // NULL: `value` for every element
    uint64_t value;   // of the computing type
    int64_t step[HR_MAX_NDIM];
    int32_t dtype, size;

    HR_DEVICE uint64_t load(int64_t at, int type) const
    {
        return data ? converted(value_load(data + at * size, size), dtype, type) : value;
    }
};

struct record {
    operand a, b;
    char *dst;
    int64_t count;
    int64_t extent[HR_MAX_NDIM]; // of the output, where an operand is repeated along some of them
    int32_t op, type, result, result_size, ndim;
    bool mixed;

    template <typename Index>
    HR_DEVICE void find_offsets(Index i, int64_t *at_a, int64_t *at_b) const
    {
        *at_a = *at_b = 0;
        for (int32_t d = ndim - 1; d >= 0; d--) {
            Index n = (Index)extent[d], next = i / n;
            int64_t at = (int64_t)(i - next * n);
            *at_a += at * a.step[d];
            *at_b += at * b.step[d];
            i = next;
        }
    }

    template <typename Apply> HR_DEVICE void compute(int64_t i, Apply apply) const
    {
        int64_t at_a = i, at_b = i;
        if (ndim > 0 && count <= UINT32_MAX)
            find_offsets((uint32_t)i, &at_a, &at_b);
        else if (ndim > 0)
            find_offsets(i, &at_a, &at_b);
        uint64_t v = apply(a.load(at_a, type), b.load(at_b, type));
        if (op == HR_MATH_OP_INVERT && type == HR_DTYPE_BOOL)
            v &= 1;
        if (op == HR_MATH_OP_LSHIFT && type == HR_DTYPE_BOOL)
            v = v != 0;
        if (type == HR_DTYPE_FLOAT64 && result == HR_DTYPE_FLOAT)
            v = value_convert(v, type, result);
        value_store(dst + i * result_size, result_size, v);
    }
};

struct plain : record {
    HR_DEVICE uint64_t apply(uint64_t x, uint64_t y) const
    {
        if (mixed)
            return b.dtype == HR_DTYPE_UINT64
                       ? math_compare_mixed((hr_math_op)op, (int64_t)x, y)
                       : math_compare_mixed(math_turned((hr_math_op)op), (int64_t)y, x);
        switch (type) {
        case HR_DTYPE_UINT16:
            return integers<uint16_t, uint32_t, false>(op, x, y);
        case HR_DTYPE_UINT32:
            return integers<uint32_t, uint32_t, false>(op, x, y);
        case HR_DTYPE_UINT64:
            return integers<uint64_t, uint64_t, false>(op, x, y);
        case HR_DTYPE_INT8:
            return integers<int8_t, uint32_t, true>(op, x, y);
        case HR_DTYPE_INT16:
            return integers<int16_t, uint32_t, true>(op, x, y);
        case HR_DTYPE_INT32:
            return integers<int32_t, uint32_t, true>(op, x, y);
        case HR_DTYPE_INT64:
            return integers<int64_t, uint64_t, true>(op, x, y);
        case HR_DTYPE_FLOAT:
            return floats<float>(op, x, y);
        case HR_DTYPE_FLOAT64:
            return floats<double>(op, x, y);
        default:
            return integers<uint8_t, uint32_t, false>(op, x, y);
        }
    }

    HR_DEVICE void element(int64_t i) const
    {
        compute(i, [&](uint64_t x, uint64_t y) { return apply(x, y); });
    }
};

struct costly : plain {
    HR_DEVICE void element(int64_t i) const
    {
        compute(i, [&](uint64_t x, uint64_t y) {
            return type == HR_DTYPE_FLOAT     ? dear_floats<float>(op, x, y)
                   : type == HR_DTYPE_FLOAT64 ? dear_floats<double>(op, x, y)
                                              : apply(x, y);
        });
    }
};

// Operators that are expensive for floats.
bool is_expensive(int op)
{
    return op >= HR_MATH_OP_SQRT || op == HR_MATH_OP_MOD || op == HR_MATH_OP_POW ||
           op == HR_MATH_OP_FPOW || op == HR_MATH_OP_ATAN2;
}

void operand_make(operand *to, const hr_tensor *t, bool constant, int32_t type,
                  const hr_shape *shape)
{
    to->dtype = t->dtype;
    to->size = value_size(t->dtype);
    to->data = (const char *)t->data;
    if (constant) {
        to->value = converted(value_load(t->data, to->size), to->dtype, type);
        to->data = nullptr;
    }
    int64_t step = 1;
    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        int32_t own = d - (shape->ndim - t->shape.ndim);
        to->step[d] = own < 0 || t->shape.extent[own] == 1 ? 0 : step;
        step *= own < 0 ? 1 : t->shape.extent[own];
    }
}

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const hr_arithmetic *o = (const hr_arithmetic *)c->memo;
    const hr_shape *shape = &c->out[0].shape;
    *r = {};
    operand_make(&r->a, o->a, o->const_side == 0, o->type, shape);
    operand_make(&r->b, o->b, o->const_side == 1, o->type, shape);
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->out[0]);
    bool direct = (o->const_side == 0 || op::count(o->a) == r->count) &&
                  (o->const_side == 1 || op::count(o->b) == r->count);
    r->ndim = direct ? 0 : shape->ndim;
    for (int32_t d = 0; d < shape->ndim; d++)
        r->extent[d] = shape->extent[d];
    r->op = o->op;
    r->type = o->type;
    r->result = o->result;
    r->result_size = value_size(o->result);
    r->mixed = o->mixed;
    return HR_STATUS_OK;
}

// ---- many elements per thread: cheap operators on types of at most 4 bytes ----

#define QUICK_OPS(X)                                                                               \
    X(HR_MATH_OP_ADD)                                                                              \
    X(HR_MATH_OP_SUB)                                                                              \
    X(HR_MATH_OP_MUL)                                                                              \
    X(HR_MATH_OP_MIN)                                                                              \
    X(HR_MATH_OP_MAX)                                                                              \
    X(HR_MATH_OP_EQ)                                                                               \
    X(HR_MATH_OP_NE)                                                                               \
    X(HR_MATH_OP_LT)                                                                               \
    X(HR_MATH_OP_LE)                                                                               \
    X(HR_MATH_OP_GT)                                                                               \
    X(HR_MATH_OP_GE)                                                                               \
    X(HR_MATH_OP_NEG)                                                                              \
    X(HR_MATH_OP_POS)                                                                              \
    X(HR_MATH_OP_ABS)
#define QUICK_OPS_INTEGERS(X)                                                                      \
    X(HR_MATH_OP_AND)                                                                              \
    X(HR_MATH_OP_OR)                                                                               \
    X(HR_MATH_OP_XOR)                                                                              \
    X(HR_MATH_OP_LSHIFT)                                                                           \
    X(HR_MATH_OP_RSHIFT)                                                                           \
    X(HR_MATH_OP_INVERT)

// Elements are words; see quads_load.
struct quick : op::quad_record {
    const void *a, *b; // NULL: a_value or b_value for all elements
    void *dst;
    uint32_t a_value, b_value;
    int32_t a_type, b_type, op, type, result_size;

    HR_DEVICE void load(op::quads v, const void *data, uint32_t value, int from,
                        const op::quad_range &range) const
    {
        if (!data)
            return op::quads_each(v, [=](uint32_t) { return value; });
        op::quads_load(v, data, from, range);
        if (from == HR_DTYPE_BOOL && type != HR_DTYPE_BOOL)
            op::quads_each(v, [](uint32_t word) { return (uint32_t)(word != 0); });
        if (type != HR_DTYPE_FLOAT || from == HR_DTYPE_FLOAT)
            return;
        if (from == HR_DTYPE_UINT32)
            op::quads_each(v, [](uint32_t word) { return bits_of_f32((float)word); });
        else
            op::quads_each(v, [](uint32_t word) { return bits_of_f32((float)(int32_t)word); });
    }

    template <typename Apply>
    HR_DEVICE static void pairs(op::quads v, const op::quads w, const Apply &apply)
    {
        HR_UNROLL
        for (int g = 0; g < op::QUADS; g++) {
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                v[g][k] = (uint32_t)apply(v[g][k], w[g][k]);
        }
    }

    // Integers narrower than 32 bits are computed in 32, of which storing keeps the low ones.
    template <typename T> HR_DEVICE void compute_integers(op::quads v, const op::quads w) const
    {
#define QUICK(of)                                                                                  \
    case of:                                                                                       \
        return pairs(v, w, [](uint32_t x, uint32_t y) {                                            \
            return integers<T, uint32_t, (T)-1 < (T)0>(of, x, y);                                  \
        });
        switch (op) {
            QUICK_OPS(QUICK)
            QUICK_OPS_INTEGERS(QUICK)
        default:
            return;
        }
#undef QUICK
    }

    HR_DEVICE void compute_floats(op::quads v, const op::quads w) const
    {
#define QUICK(of)                                                                                  \
    case of:                                                                                       \
        return pairs(v, w, [](uint32_t x, uint32_t y) { return floats<float>(of, x, y); });
        switch (op) {
            QUICK_OPS(QUICK)
            QUICK(HR_MATH_OP_DIV)
        default:
            return;
        }
#undef QUICK
    }

    HR_DEVICE void process(const op::quad_range &range) const
    {
        op::quads v, w;
        load(v, a, a_value, a_type, range);
        load(w, b, b_value, b_type, range);
        if (type == HR_DTYPE_FLOAT)
            compute_floats(v, w);
        else if (type == HR_DTYPE_UINT32)
            compute_integers<uint32_t>(v, w);
        else
            compute_integers<int32_t>(v, w);
        if (type == HR_DTYPE_BOOL && op == HR_MATH_OP_INVERT)
            op::quads_each(v, [](uint32_t word) { return word & 1; });
        if (type == HR_DTYPE_BOOL && op == HR_MATH_OP_LSHIFT)
            op::quads_each(v, [](uint32_t word) { return (uint32_t)((word & 255) != 0); });
        op::quads_store(v, dst, result_size, range);
    }
};

bool is_quick_op(const hr_arithmetic *o)
{
#define QUICK(of) case of:
    switch (o->op) {
        QUICK_OPS(QUICK)
        return true;
        QUICK_OPS_INTEGERS(QUICK)
        return o->type != HR_DTYPE_FLOAT;
    case HR_MATH_OP_DIV:
        return o->type == HR_DTYPE_FLOAT;
    default:
        return false;
    }
#undef QUICK
}

bool is_quick(const hr_op_call *c)
{
    const hr_arithmetic *o = (const hr_arithmetic *)c->memo;
    int64_t count = op::count(&c->out[0]);
    return is_quick_op(o) && !o->mixed && value_size(o->type) <= 4 && value_size(o->result) <= 4 &&
           (o->const_side == 0 || (op::count(o->a) == count && value_size(o->a->dtype) <= 4)) &&
           (o->const_side == 1 || (op::count(o->b) == count && value_size(o->b->dtype) <= 4));
}

hr_status make_quick(quick *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    record full;
    HR_TRY(make(&full, c, staging, error));
    op::quad_begin(r, full.count, full.a.data, full.a.size, full.b.data, full.b.size, full.dst,
                   full.result_size);
    r->a = full.a.data;
    r->b = full.b.data;
    r->dst = full.dst;
    r->a_value = (uint32_t)full.a.value;
    r->b_value = (uint32_t)full.b.value;
    r->a_type = full.a.dtype;
    r->b_type = full.b.dtype;
    r->op = full.op;
    r->type = full.type;
    r->result_size = full.result_size;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    bool all_quick = true;
    for (int32_t i = 0; i < n && all_quick; i++)
        all_quick = is_quick(&calls[i]);
    if (all_quick) {
        hr_staged records;
        HR_TRY(op::stage<quick>(calls, n, staging, make_quick, &records, error));
        return op::launch_quads<quick>(l, records, n, error);
    }
    if (is_expensive(((const hr_arithmetic *)calls[0].memo)->op))
        return op::run<costly>(l, calls, n, staging, make, error);
    return op::run<plain>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(arithmetic, "_arithmetic", run);
