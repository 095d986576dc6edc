// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// optical_flow: kernels copy frames and hints to the buffers of the engine, and vectors from there.
// The engine works in the order of the stream.
#include "ops/image/optical_flow.h"
#include "cuda/ops/flow_session.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct frame_record { // one thread per pixel
    const uint8_t *src;
    char *dst;
    int64_t stride, width, count;
    int32_t channels;
    bool bgr;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i, x = op::digit(&y, width);
        const uint8_t *p = src + i * channels;
        char *to = dst + y * stride;
        if (channels == 1)
            to[x] = (char)p[0];
        else
            *(uint32_t *)(to + 4 * x) = (uint32_t)p[bgr ? 2 : 0] | (uint32_t)p[1] << 8 |
                                        (uint32_t)p[bgr ? 0 : 2] << 16 | UINT32_C(0xff000000);
    }
};

struct vectors_record { // one thread per vector
    const char *src;
    float *dst;
    int64_t stride, width, count;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i, x = op::digit(&y, width);
        const int16_t *v = (const int16_t *)(src + y * stride) + 2 * x;
        dst[2 * i] = (float)v[0] / 32;
        dst[2 * i + 1] = (float)v[1] / 32;
    }
};

struct hints_record { // one thread per vector
    const float *src;
    char *dst;
    int64_t stride, width, count;

    HR_DEVICE static int16_t fixed(float v)
    {
        float scaled = v * 32;
        scaled = scaled < 0 ? scaled - 0.5f : scaled + 0.5f;
        return !(scaled > -32768) ? INT16_MIN : scaled < 32767 ? (int16_t)scaled : INT16_MAX;
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i, x = op::digit(&y, width);
        int16_t *to = (int16_t *)(dst + y * stride) + 2 * x;
        to[0] = fixed(src[2 * i]);
        to[1] = fixed(src[2 * i + 1]);
    }
};

// A sequence while its work is queued.
struct Sequence {
    hr_cuda_launch *launch;
    const hr_op_call *call;
    const optical_flow_args *args;
    flow::Session *session;
    hr_staged frames, vectors, hints; // records, one per frame, per output, per output
};

flow::Format format_of(const hr_op_call *c)
{
    const auto *a = (const optical_flow_args *)c->args;
    const int64_t *extent = c->in[0].shape.extent;
    flow::Format f = {};
    f.width = extent[2];
    f.height = extent[1];
    f.grid = a->output_grid;
    f.hint_grid = a->enable_external_hints ? a->hint_grid : 0;
    f.speed = a->preset < 0.375f  ? FLOW_SPEED_SLOW
              : a->preset < 0.75f ? FLOW_SPEED_MEDIUM
                                  : FLOW_SPEED_FAST;
    f.gray = a->image_type == HR_IMAGE_TYPE_GRAY;
    return f;
}

void fill_frames(const Sequence *s)
{
    const hr_tensor *in = &s->call->in[0];
    const int64_t *extent = in->shape.extent, size = extent[1] * extent[2];
    for (int64_t k = 0; k < extent[0]; k++) {
        const flow::Buffer &to = s->session->frames[k % 2];
        frame_record r = {};
        r.src = (const uint8_t *)in->data + k * size * extent[3];
        r.dst = to.data;
        r.stride = to.stride;
        r.width = extent[2];
        r.count = size;
        r.channels = (int32_t)extent[3];
        r.bgr = s->args->image_type == HR_IMAGE_TYPE_BGR;
        ((frame_record *)s->frames.host)[k] = r;
    }
}

// Fields that records of vectors have in common, for vectors k of a tensor.
template <typename Record>
Record record_of(const hr_tensor *t, int64_t k, const flow::Buffer &buffer, float **at)
{
    const int64_t *extent = t->shape.extent;
    Record r = {};
    r.stride = buffer.stride;
    r.width = extent[2];
    r.count = extent[1] * extent[2];
    *at = (float *)t->data + k * r.count * 2;
    return r;
}

void fill_vectors(const Sequence *s)
{
    float *at;
    for (int64_t k = 0; k < s->call->out[0].shape.extent[0]; k++) {
        auto r = record_of<vectors_record>(&s->call->out[0], k, s->session->vectors, &at);
        r.src = s->session->vectors.data;
        r.dst = at;
        ((vectors_record *)s->vectors.host)[k] = r;
        if (!s->hints.host)
            continue;
        auto h = record_of<hints_record>(&s->call->in[1], k, s->session->hints, &at);
        h.src = at;
        h.dst = s->session->hints.data;
        ((hints_record *)s->hints.host)[k] = h;
    }
}

// Runs record k of a list.
template <typename Record>
hr_status run_one(const Sequence *s, const hr_staged &records, int64_t k, hr_error *error)
{
    hr_staged one = {(Record *)records.host + k, (Record *)records.device + k};
    return op::launch<Record, 1>(s->launch, one, 1, error);
}

hr_status queue_pairs(const Sequence *s, hr_error *error)
{
    HR_TRY(run_one<frame_record>(s, s->frames, 0, error));
    for (int64_t k = 1; k < s->call->in[0].shape.extent[0]; k++) {
        HR_TRY(run_one<frame_record>(s, s->frames, k, error));
        if (s->hints.host)
            HR_TRY(run_one<hints_record>(s, s->hints, k - 1, error));
        HR_TRY(flow::search(s->session, (int32_t)(k % 2), s->args->enable_temporal_hints && k > 1,
                            error));
        HR_TRY(run_one<vectors_record>(s, s->vectors, k - 1, error));
    }
    return HR_STATUS_OK;
}

hr_status queue_sequence(Sequence *s, hr_staging *staging, hr_error *error)
{
    const size_t count = (size_t)s->call->in[0].shape.extent[0];
    HR_TRY(staging->alloc(staging, count * sizeof(frame_record), &s->frames, error));
    HR_TRY(staging->alloc(staging, count * sizeof(vectors_record), &s->vectors, error));
    if (s->args->enable_external_hints)
        HR_TRY(staging->alloc(staging, count * sizeof(hints_record), &s->hints, error));
    fill_frames(s);
    fill_vectors(s);
    HR_TRY(staging->flush(staging, error));
    return queue_pairs(s, error);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        Sequence s = {};
        s.launch = l;
        s.call = &calls[i];
        s.args = (const optical_flow_args *)calls[i].args;
        HR_TRY(flow::take(format_of(&calls[i]), l->stream, &s.session, error));
        hr_status status = queue_sequence(&s, staging, error);
        if (status != HR_STATUS_OK) {
            flow::drop(s.session);
            return status;
        }
        flow::give(s.session);
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(optical_flow, "optical_flow", run);
