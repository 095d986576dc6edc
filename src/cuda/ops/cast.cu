// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cast and cast_like, of tensors that are not images. Types of at most 4 bytes: 16 elements per
// thread.
#include "cuda/ops/cast.cuh"
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/quads.cuh"

HR_DEVICE void op::cast_record::element(int64_t i) const
{
    int in = value_size(from), out = value_size(to);
    uint64_t v = value_load((const char *)src + i * in, in);
    value_store((char *)dst + i * out, out, value_convert(v, from, to));
}

hr_status op::cast_launch(hr_cuda_launch *l, hr_staged records, int32_t n, hr_error *error)
{
    return launch<cast_record>(l, records, n, error);
}

namespace
{

struct cast_quads : op::quad_record {
    const void *src;
    void *dst;
    int32_t from, to;

    // `of(word, type)`: a word as an element of the type.
    template <int TO, typename Of> HR_DEVICE static void convert_to(op::quads v, const Of &of)
    {
        op::quads_each(v, [&](uint32_t word) { return (uint32_t)of(word, TO); });
    }

    template <typename Of> HR_DEVICE void convert(op::quads v, const Of &of) const
    {
        switch (to) {
        case HR_DTYPE_UINT8:
            return convert_to<HR_DTYPE_UINT8>(v, of);
        case HR_DTYPE_INT8:
            return convert_to<HR_DTYPE_INT8>(v, of);
        case HR_DTYPE_UINT16:
            return convert_to<HR_DTYPE_UINT16>(v, of);
        case HR_DTYPE_INT16:
            return convert_to<HR_DTYPE_INT16>(v, of);
        case HR_DTYPE_UINT32:
            return convert_to<HR_DTYPE_UINT32>(v, of);
        case HR_DTYPE_INT32:
            return convert_to<HR_DTYPE_INT32>(v, of);
        case HR_DTYPE_FLOAT16:
            return convert_to<HR_DTYPE_FLOAT16>(v, of);
        case HR_DTYPE_BOOL:
            return convert_to<HR_DTYPE_BOOL>(v, of);
        default:
            return convert_to<HR_DTYPE_FLOAT>(v, of);
        }
    }

    HR_DEVICE void convert_any(op::quads v) const
    {
        if (from == HR_DTYPE_BOOL)
            op::quads_each(v, [](uint32_t word) { return (uint32_t)(word != 0); });
        if (from == HR_DTYPE_FLOAT16)
            op::quads_each(v, [](uint32_t word) { return bits_of_f32(half_read((uint16_t)word)); });
        if (value_is_float(from))
            convert(
                v, [](uint32_t word, int type) { return value_of_float(bits_as_f32(word), type); });
        else if (from == HR_DTYPE_UINT32)
            convert(v, [](uint32_t word, int type) { return value_of_integer(word, type); });
        else
            convert(v,
                    [](uint32_t word, int type) { return value_of_integer((int32_t)word, type); });
    }

    HR_DEVICE void process(const op::quad_range &range) const
    {
        op::quads v;
        op::quads_load(v, src, from, range);
        if (from != to || from == HR_DTYPE_BOOL)
            convert_any(v);
        op::quads_store(v, dst, value_size(to), range);
    }
};

// `run` of operators that convert input 0 into output 0's type.
hr_status cast_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                   hr_error *error)
{
    int32_t from = hr_dtype_number(calls[0].in[0].dtype);
    int32_t to = hr_dtype_number(calls[0].out[0].dtype);
    auto make = [=](op::cast_record *r, const hr_op_call *c, hr_staging *, hr_error *) {
        *r = {c->in[0].data, c->out[0].data, op::count(&c->out[0]), from, to};
        return HR_STATUS_OK;
    };
    auto make_quads = [=](cast_quads *r, const hr_op_call *c, hr_staging *, hr_error *) {
        const void *src = c->in[0].data;
        op::quad_begin(r, op::count(&c->out[0]), src, value_size(from), nullptr, 0, c->out[0].data,
                       value_size(to));
        r->src = src;
        r->dst = c->out[0].data;
        r->from = from;
        r->to = to;
        return HR_STATUS_OK;
    };
    hr_staged records;
    if (value_size(from) > 4 || value_size(to) > 4) {
        HR_TRY(op::stage<op::cast_record>(calls, n, staging, make, &records, error));
        return op::cast_launch(l, records, n, error);
    }
    HR_TRY(op::stage<cast_quads>(calls, n, staging, make_quads, &records, error));
    return op::launch_quads<cast_quads>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(cast, "cast", cast_run);
HR_CUDA_OP(cast_like, "cast_like", cast_run);
