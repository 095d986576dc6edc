/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _video_table: where the packets of a video are. A file that is fed to experimental.inputs.video
 * is read once for it, however many sequences it has. */
#include <string.h>

#include "codecs/video/flat.h"
#include "codecs/video/memory.h"
#include "headrace/operator.h"

/* The table of a sample between infer and run, from the arena. */
typedef struct found {
    void *flat;
    size_t size;
    int32_t frames;
} found;

static hr_status keep(hr_op_call *c, const hr_video *v, int64_t file_size, hr_error *error)
{
    found *f = hr_arena_alloc(c->arena, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    *f = (found){.size = hr_video_flat_size(v), .frames = v->frames};
    if (!(f->flat = hr_arena_alloc(c->arena, f->size, error)))
        return HR_STATUS_NO_MEMORY;
    memset(f->flat, 0, f->size);
    hr_video_flat_write(v, file_size, f->flat);
    c->memo = f;
    return HR_STATUS_OK;
}

static hr_status video_table_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_video video;
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    hr_video_file file = hr_video_file_of(in->data, (size_t)in->shape.extent[0]);
    HR_TRY(hr_video_scan(&file, &video, error));
    hr_status status = keep(c, &video, file.size, error);
    hr_video_fini(&video);
    HR_TRY(status);
    const found *f = c->memo;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, (hr_shape){1, {(int64_t)f->size}}, NULL);
    hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

static hr_status video_table_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const found *f = c->memo;
    memcpy(c->out[0].data, f->flat, f->size);
    *(int32_t *)c->out[1].data = f->frames;
    return HR_STATUS_OK;
}

const hr_op_def hr_op__video_table = {
    HR_OP("_video_table"),
    .doc =
        "The positions of the packets in the bytes of a video file, and the number of its frames.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN,
    .in = HR_INPUTS({.name = "encoded"}),
    .out = HR_OUTPUTS({"table"}, {"frames"}),
    .infer = video_table_infer,
    .run = video_table_run,
};
