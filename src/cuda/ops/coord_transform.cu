// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// coord_transform: one thread per coordinate of the output.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/geometry/points.h"

namespace
{

struct record {
    const hr_point_map *maps;
    const char *src;
    char *dst;
    int64_t count, points; // points of a frame
    int32_t in, out, from, to;
    bool repeated;

    template <typename Index> HR_DEVICE void map(Index i) const
    {
        Index point = i / (Index)out, frame = point / (Index)points;
        int64_t at = (int64_t)(repeated ? point - frame * (Index)points : point) * in;
        int read = value_size(from), size = value_size(to);
        float x[HR_POINT_MAX_DIMS] = {};
        for (int32_t k = 0; k < in; k++)
            x[k] = value_to_float(value_load(src + (at + k) * read, read), from);
        float y = point_map_row(&maps[frame], in, (int32_t)(i - point * (Index)out), x);
        value_store(dst + (int64_t)i * size, size, value_of_float(y, to));
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (count <= UINT32_MAX)
            map((uint32_t)i);
        else
            map(i);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_coord_transform *m = (const hr_coord_transform *)c->memo;
    *r = {};
    r->count = op::count(&c->out[0]);
    if (r->count == 0)
        return HR_STATUS_OK;
    r->maps = m->maps;
    HR_TRY(op::stage_list(&r->maps, m->frames, staging, error));
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->points = m->points;
    r->in = m->maps->in;
    r->out = m->maps->out;
    r->from = c->in[0].dtype;
    r->to = c->out[0].dtype;
    r->repeated = m->repeated;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(coord_transform, "coord_transform", run);
