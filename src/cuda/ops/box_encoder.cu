// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// box_encoder: three launches. The anchors are cut into chunks; a thread finds the best anchor of a
// box in a chunk, then a thread per box the best of these, then a thread per anchor its box.
#include "core/mathx_inline.h"
#include "cuda/ops/op.cuh"
#include "ops/boxes/boxes.h"

namespace
{

constexpr int32_t CHUNK = 64;

struct best {
    float iou;
    int32_t anchor;
};

struct record {
    hr_box_encoder m;
    const hr_box *boxes;
    const int32_t *labels;
    int32_t box_count, chunks;
    best *parts, *bests; // of each box and chunk, and of each box
    float *out;
    int32_t *out_labels;
};

// Later anchors win ties.
HR_DEVICE static inline void take(best *b, float iou, int32_t anchor)
{
    if (iou >= b->iou) {
        b->iou = iou;
        b->anchor = anchor;
    }
}

struct in_chunks : record {
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        const hr_box *box = boxes + i / chunks;
        int32_t from = (int32_t)(i % chunks) * CHUNK;
        int32_t to = from + CHUNK < m.count ? from + CHUNK : m.count;
        float area = box_area(box);
        best b = {-1.0f, m.count - 1};
        for (int32_t k = from; k < to; k++)
            take(&b, box_iou(box, area, &m.anchors[k]), k);
        parts[i] = b;
    }
};

struct of_boxes : record {
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        best b = {-1.0f, m.count - 1};
        for (int32_t k = 0; k < chunks; k++)
            take(&b, parts[i * chunks + k].iou, parts[i * chunks + k].anchor);
        bests[i] = b;
    }
};

struct of_anchors : record {
    int64_t count;

    HR_DEVICE int32_t box_of(int32_t anchor) const
    {
        float most = m.criteria;
        int32_t of = -1;
        for (int32_t i = 0; i < box_count; i++) {
            float iou = bests[i].anchor == anchor
                            ? 2.0f
                            : box_iou(&boxes[i], box_area(&boxes[i]), &m.anchors[anchor]);
            if (of < 0 ? iou > most : iou >= most) {
                of = i;
                most = iou;
            }
        }
        return of;
    }

    HR_DEVICE void element(int64_t k) const
    {
        float anchor[4], box[4], logs[2] = {0.0f, 0.0f};
        int32_t of = box_of((int32_t)k);
        box_centre(&m.anchors[k], anchor);
        out_labels[k] = of < 0 ? 0 : labels[of];
        if (of < 0) {
            for (int j = 0; j < 4; j++)
                out[4 * k + j] = m.offset ? 0.0f : anchor[j];
            return;
        }
        box_centre(&boxes[of], box);
        for (int j = 0; j < 2 && m.offset; j++)
            logs[j] = (float)mathx_log((double)(box[j + 2] * m.scale / (anchor[j + 2] * m.scale)));
        box_encode(&m, box, anchor, logs, out + 4 * k);
    }
};

template <typename Phase>
hr_status phase(hr_cuda_launch *l, const record *records, int32_t n, hr_staging *staging,
                int64_t (*count)(const record &), hr_error *error)
{
    hr_staged staged;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(Phase), &staged, error));
    Phase *phases = (Phase *)staged.host;
    for (int32_t i = 0; i < n; i++) {
        phases[i] = Phase();
        (record &)phases[i] = records[i];
        phases[i].count = count(records[i]);
    }
    HR_TRY(staging->flush(staging, error));
    return op::launch<Phase, 1>(l, staged, n, error);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    const hr_box_encoder *m = (const hr_box_encoder *)calls[0].state; // the node's
    const void *anchors;
    hr_staged table;
    HR_TRY(staging->constant(staging, m->anchors, (size_t)m->count * sizeof(hr_box), &anchors,
                             error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &table, error));
    record *records = (record *)table.host;
    for (int32_t i = 0; i < n; i++) {
        const hr_op_call *c = &calls[i];
        record *r = &records[i];
        void *room;
        *r = record();
        r->m = *m;
        r->m.anchors = (const hr_box *)anchors;
        r->boxes = (const hr_box *)c->in[0].data;
        r->labels = (const int32_t *)c->in[1].data;
        r->box_count = (int32_t)c->in[0].shape.extent[0];
        r->chunks = (m->count + CHUNK - 1) / CHUNK;
        r->out = (float *)c->out[0].data;
        r->out_labels = (int32_t *)c->out[1].data;
        size_t parts = (size_t)r->box_count * (size_t)r->chunks;
        HR_TRY(l->scratch(l, (parts + (size_t)r->box_count + 1) * sizeof(best), &room, error));
        r->parts = (best *)room;
        r->bests = r->parts + parts;
    }
    HR_TRY(phase<in_chunks>(
        l, records, n, staging,
        [](const record &r) { return (int64_t)r.box_count * r.chunks; }, error));
    HR_TRY(phase<of_boxes>(
        l, records, n, staging, [](const record &r) { return (int64_t)r.box_count; }, error));
    return phase<of_anchors>(
        l, records, n, staging, [](const record &r) { return (int64_t)r.m.count; }, error);
}

} // namespace

HR_CUDA_OP(box_encoder, "box_encoder", run);
