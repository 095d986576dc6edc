// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// random.normal. A thread makes the numbers of one block of four draws. Those in the tails of the
// distribution, one of seven, take longer: the block lists them, and makes them afterwards, so that
// threads that have none do not wait.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/random/distribution.h"

namespace
{

constexpr int DRAWS = 4; // of a thread
constexpr int NUMBERS = op::THREADS * DRAWS;
constexpr int ROW = op::THREADS + 4; // 4 apart: threads use different banks when they store

struct record {
    hr_rng rng;
    hr_normal m;
    char *dst;
    int64_t elements;
    int32_t tiles, to, each; // elements of a block of draws

    struct Shared {
        double values[DRAWS * ROW]; // number k of thread i is at k * ROW + i
        uint16_t tails[NUMBERS];    // where there are uniform numbers instead
        uint32_t count;             // of them
    };

    HR_DEVICE static constexpr int phases()
    {
        return 4;
    }

    // All polynomials are computed side by side, also those that are not needed: they share their
    // coefficients.
    HR_DEVICE void draw(int tile, Shared *shared, int thread) const
    {
        uint32_t bits[4];
        double u[DRAWS];
        gauss_ratio z[DRAWS];
        rng_block(&rng, (uint64_t)tile * op::THREADS + (uint64_t)thread, bits);
        HR_UNROLL
        for (int k = 0; k < DRAWS; k++)
            u[k] =
                each == DRAWS ? normal_uniform(bits[k]) : normal_uniform_fine(bits + 2 * (k % 2));
        HR_UNROLL
        for (int k = 0; k < DRAWS; k++)
            z[k] = gauss_centre(u[k] - 0.5);
        HR_UNROLL
        for (int k = 0; k < DRAWS; k++) {
            if (k >= each)
                break;
            const int at = k * ROW + thread;
            const bool central = gauss_is_central(u[k] - 0.5);
            shared->values[at] = central ? (u[k] - 0.5) * (z[k].top / z[k].bottom) : u[k];
            if (!central)
                shared->tails[op::take_from(&shared->count, 1)] = (uint16_t)at;
        }
    }

    HR_DEVICE void store(int tile, const Shared *shared, int thread) const
    {
        const int size = value_size(to), shift = each == DRAWS ? 2 : 1;
        const int64_t first = (int64_t)tile * op::THREADS * each;
        const int64_t left = elements - first;
        for (int i = thread; i < op::THREADS * each && i < left; i += op::THREADS) {
            const double z = shared->values[(i & (each - 1)) * ROW + (i >> shift)];
            value_store(dst + (first + i) * size, size, value_of_double(normal_scaled(&m, z), to));
        }
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        if (k == 0 && thread == 0)
            shared->count = 0;
        else if (k == 1)
            draw(tile, shared, thread);
        else if (k == 2)
            for (uint32_t i = (uint32_t)thread; i < shared->count; i += op::THREADS) {
                double *value = &shared->values[shared->tails[i]];
                *value = gauss_tail(*value, *value - 0.5);
            }
        else if (k == 3)
            store(tile, shared, thread);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {};
    r->rng = c->rng;
    r->m = *(const hr_normal *)c->memo;
    r->dst = (char *)c->out[0].data;
    r->elements = op::count(&c->out[0]);
    r->to = c->out[0].dtype;
    r->each = r->to == HR_DTYPE_FLOAT64 ? DRAWS / 2 : DRAWS;
    r->tiles = (int32_t)HR_DIVIDE_UP(r->elements, (int64_t)op::THREADS * r->each);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records;
    HR_TRY(op::stage<record>(calls, n, staging, make, &records, error));
    return op::launch_blocks<record>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(random_normal, "random.normal", run);
