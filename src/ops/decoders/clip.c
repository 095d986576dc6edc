/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/decoders/clip.h"

#include "codecs/video/flat.h"
#include "codecs/video/memory.h"
#include "ops/decoders/on_device.h"

/* Of one worker. */
typedef struct clip_local {
    hr_video_decoder *decoder;
    hr_video video;
    uint64_t turn; /* of the sample that `video` is of */
    /* The last table that was checked, which takes time in proportion to the length of the video.
     * Only compared: many sequences use the same memory. */
    const void *table;
    size_t table_size;
    int64_t file_size;
} clip_local;

/* A sample between infer and run. */
typedef struct sample {
    hr_video_file file;
    const void *table; /* NULL: the file is scanned */
    size_t table_size;
    hr_video video; /* of the table */
    hr_video_request request;
    uint64_t turn;
    hr_clip_select_fn select;
    bool done; /* on the device */
} sample;

hr_status hr__clip_local_create(const void *args, void *state, void **local, hr_error *error)
{
    clip_local *l = hr_calloc(1, sizeof(*l), error);
    (void)args;
    (void)state;
    HR_TRY_ALLOC(l);
    hr_status status = hr_video_decoder_create(&l->decoder, error);
    if (status != HR_STATUS_OK)
        hr_free(l);
    else
        *local = l;
    return status;
}

void hr__clip_local_destroy(void *local)
{
    clip_local *l = local;
    hr_video_decoder_destroy(l->decoder);
    hr_video_fini(&l->video);
    hr_free(l);
}

/* Where the packets of the file of a sample are. */
static hr_status find_packets(clip_local *l, sample *s, const hr_video **video, hr_error *error)
{
    if (!s->table) {
        *video = &l->video;
        return hr_video_scan(&s->file, &l->video, error);
    }
    if (s->table != l->table || s->table_size != l->table_size || s->file.size != l->file_size) {
        if (!hr_video_flat_valid(s->table, s->table_size, s->file.size))
            return hr_fail(error, HR_STATUS_ERROR, "the table of packets is not that of the file");
        l->table = s->table;
        l->table_size = s->table_size;
        l->file_size = s->file.size;
    }
    hr_video_flat_open(s->table, &s->video);
    *video = &s->video;
    return HR_STATUS_OK;
}

/* Selects the frames of the file of a sample. */
static hr_status open_sample(hr_op_call *c, sample *s, hr_error *error)
{
    clip_local *l = c->local;
    const hr_video *video = NULL;
    hr_video_fini(&l->video);
    l->video = (hr_video){0};
    s->turn = ++l->turn;
    HR_TRY(find_packets(l, s, &video, error));
    s->request = (hr_video_request){.video = video,
                                    .file = &s->file,
                                    .max_pixels = hr_task_max_pixels(c->task),
                                    .kernels = c->kernels,
                                    .arena = c->arena};
    return s->select(c, video->frames, &s->request, error);
}

hr_status hr__clip_infer(hr_op_call *c, const hr_tensor *table, hr_clip_select_fn select,
                         hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    sample *s = hr_arena_alloc(c->arena, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    s->file = hr_video_file_of(in->data, (size_t)in->shape.extent[0]);
    if (table && (table->dtype != HR_DTYPE_UINT8 || table->shape.ndim != 1))
        return hr_fail(error, HR_STATUS_ERROR, "the table of packets must be a 1-D UINT8 tensor");
    s->table = table ? table->data : NULL;
    s->table_size = table ? (size_t)table->shape.extent[0] : 0;
    s->select = select;
    clip_local *l = c->local;
    HR_TRY(open_sample(c, s, error));
    HR_TRY(hr__frames_begin(c, l->decoder, &s->request, &s->done, error));
    if (!s->done)
        hr__frames_describe(c, &s->request);
    c->memo = s;
    return HR_STATUS_OK;
}

hr_status hr__clip_run(hr_op_call *c, hr_error *error)
{
    sample *s = c->memo;
    clip_local *l = c->local;
    if (s->done)
        return HR_STATUS_OK;
    if (s->turn != l->turn) { /* the worker had another sample in between */
        HR_TRY(open_sample(c, s, error));
        HR_TRY(hr_video_frames_begin(l->decoder, &s->request, error));
    }
    HR_TRY(hr_video_frames_finish(l->decoder, &s->request, c->out[0].data, error));
    if (s->request.damaged > 0)
        HR_TRY(hr_task_warn(c->task, error,
                            "%d of %d frames are damaged; the decoder concealed the missing parts",
                            s->request.damaged, s->request.count));
    return HR_STATUS_OK;
}
