// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// random.uniform.
#include "cuda/ops/draw.cuh"

namespace
{

struct uniform {
    hr_uniform m;

    HR_DEVICE int per() const
    {
        return m.values.v ? 2 : 1;
    }
    HR_DEVICE uint64_t make(const uint32_t *bits, int to) const
    {
        if (m.values.v)
            return value_of_float(uniform_value(&m, bits), to);
        return to == HR_DTYPE_FLOAT ? bits_of_f32(uniform_float(&m, bits[0]))
                                    : value_of_double(uniform_double(&m, bits[0]), to);
    }
};

hr_status make(op::draw_record<uniform> *r, const hr_op_call *c, hr_staging *staging,
               hr_error *error)
{
    hr_uniform *m = &r->how.m;
    *m = *(const hr_uniform *)c->memo;
    if (m->values.v)
        HR_TRY(op::stage_list(&m->values.v, m->values.n, staging, error));
    op::draw_make(r, c, m->values.v ? 2 : 1);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<op::draw_record<uniform>>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(random_uniform, "random.uniform", run);
