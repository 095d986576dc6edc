/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video/emit.h"

#include <string.h>

#include "codecs/video/frames.h"
#include "ops/decoders/on_device.h"

hr_status hr_video_local_create(const void *args, void *state, void **local, hr_error *error)
{
    hr_video_decoder *decoder;
    (void)args;
    (void)state;
    HR_TRY(hr_video_decoder_create(&decoder, error));
    *local = decoder;
    return HR_STATUS_OK;
}

void hr_video_local_destroy(void *local)
{
    hr_video_decoder_destroy(local);
}

static hr_video_numbers numbers_of(const hr_json *value)
{
    if (!value)
        return HR_VIDEO_NUMBERS_NONE;
    if (value->kind == HR_JSON_KIND_BOOL)
        return value->i ? HR_VIDEO_NUMBERS_SCALAR : HR_VIDEO_NUMBERS_NONE;
    return strcmp(value->s, "scalar") == 0     ? HR_VIDEO_NUMBERS_SCALAR
           : strcmp(value->s, "sequence") == 0 ? HR_VIDEO_NUMBERS_SEQUENCE
                                               : HR_VIDEO_NUMBERS_NONE;
}

hr_video_output hr_video_output_of(bool labelled, const hr_json *enable_frame_num, bool times,
                                   int32_t image_type)
{
    return (hr_video_output){.ycbcr = image_type == HR_IMAGE_TYPE_YCBCR,
                             .label = labelled,
                             .times = times,
                             .numbers = numbers_of(enable_frame_num)};
}

int32_t hr_video_output_count(bool labelled, const hr_json *enable_frame_num, bool times)
{
    return 1 + labelled + (numbers_of(enable_frame_num) != HR_VIDEO_NUMBERS_NONE) + times;
}

hr_status hr_video_image_type_check(int32_t image_type, hr_error *error)
{
    if (image_type == HR_IMAGE_TYPE_RGB || image_type == HR_IMAGE_TYPE_YCBCR)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "image_type must be RGB or YCbCr");
}

/* ---- frames ---- */

/* Frames of UINT8 as FLOAT; those that are FLOAT already are only normalised. */
static hr_status convert_frames(hr_op_call *c, const hr_video_output *o, const hr_tensor *frames,
                                hr_error *error)
{
    size_t count;
    hr_tensor *out = &c->out[0];
    if (frames != out) {
        hr_tensor_describe(out, HR_DTYPE_FLOAT, frames->shape, frames->layout.name);
        HR_TRY(hr_task_memory(c->task, 0, out, error));
    }
    if (!hr_shape_volume(&out->shape, &count))
        return hr_fail(error, HR_STATUS_LIMIT, "the frames are too large");
    float *dst = out->data, unit = o->normalized ? 255.0f : 1.0f;
    for (size_t i = 0; i < count; i++)
        dst[i] = (frames == out ? dst[i] : (float)((const uint8_t *)frames->data)[i]) / unit;
    return HR_STATUS_OK;
}

static hr_status put_frames(hr_op_call *c, const hr_video_output *o, hr_video_request *q,
                            hr_error *error)
{
    hr_video_decoder *decoder = c->local;
    hr_tensor frames;
    size_t size;
    bool plain = !o->is_float && !o->change, done = false;
    HR_TRY(plain ? hr__frames_begin(c, decoder, q, &done, error)
                 : hr_video_frames_begin(decoder, q, error));
    if (done)
        return HR_STATUS_OK;
    hr__frames_describe(c, q);
    if (plain) {
        HR_TRY(hr_task_memory(c->task, 0, &c->out[0], error));
        return hr_video_frames_finish(decoder, q, c->out[0].data, error);
    }
    frames = c->out[0];
    if (!hr_tensor_bytes(&frames, &size))
        return hr_fail(error, HR_STATUS_LIMIT, "the frames are too large");
    if (!(frames.data = hr_arena_alloc(c->arena, size, error)))
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_video_frames_finish(decoder, q, frames.data, error));
    if (!o->change)
        return convert_frames(c, o, &frames, error);
    HR_TRY(o->change(c, &frames, error));
    return o->is_float && o->normalized ? convert_frames(c, o, &c->out[0], error) : HR_STATUS_OK;
}

static hr_status decode(hr_op_call *c, const hr_video_output *o, const hr_video_sequence *s,
                        hr_video_file file, hr_error *error)
{
    hr_video_request q = {.video = s->video,
                          .file = &file,
                          .frames = s->numbers,
                          .count = s->count,
                          .fill = {o->fill[0], o->fill[1], o->fill[2]},
                          .ycbcr = o->ycbcr,
                          .max_pixels = hr_task_max_pixels(c->task),
                          .kernels = c->kernels,
                          .arena = c->arena};
    hr__frames_look(&o->look, &q);
    HR_TRY(put_frames(c, o, &q, error));
    if (q.damaged > 0)
        return hr_task_warn(c->task, error,
                            "%d of %d frames are damaged; the decoder concealed the missing parts",
                            q.damaged, q.count);
    return HR_STATUS_OK;
}

static hr_status emit_frames(hr_op_call *c, const hr_video_reader *r, const hr_video_output *o,
                             const hr_video_sequence *s, int64_t index, const hr_tensor *bytes,
                             hr_error *error)
{
    hr_video_bytes located = {.tensors = bytes};
    HR_TRY(hr_video_reader_locate(r, index, located.spans, &located.count, error));
    return decode(c, o, s, (hr_video_file){hr_video_bytes_read, &located, s->size}, error);
}

/* ---- other outputs ---- */

static hr_status put_numbers(hr_op_call *c, int32_t output, const int32_t *values, int64_t count,
                             hr_error *error)
{
    hr_tensor *out = &c->out[output];
    hr_tensor_describe(out, HR_DTYPE_INT32, (hr_shape){1, {count}}, NULL);
    HR_TRY(hr_task_memory(c->task, output, out, error));
    memcpy(out->data, values, (size_t)count * sizeof(*values));
    return HR_STATUS_OK;
}

static hr_status put_times(hr_op_call *c, int32_t output, const hr_video_sequence *s,
                           hr_error *error)
{
    hr_tensor *out = &c->out[output];
    hr_tensor_describe(out, HR_DTYPE_FLOAT64, (hr_shape){1, {s->count}}, NULL);
    HR_TRY(hr_task_memory(c->task, output, out, error));
    for (int32_t k = 0; k < s->count; k++)
        ((double *)out->data)[k] = hr_video_reader_time(s, k);
    return HR_STATUS_OK;
}

/* Makes the outputs of item `index` from the bytes that hr_video_reader_locate asked for. */
static hr_status emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const hr_video_reader *r = c->state;
    const hr_video_output *o = hr_video_reader_output(r);
    hr_video_sequence s;
    int32_t output = 1;
    HR_TRY(hr_video_reader_warn(r, c->task, error));
    HR_TRY(hr_video_reader_sequence(r, index, c->arena, &s, error));
    HR_TRY(emit_frames(c, r, o, &s, index, bytes, error));
    if (o->label)
        HR_TRY(put_numbers(c, output++, &s.label, 1, error));
    if (o->numbers != HR_VIDEO_NUMBERS_NONE)
        HR_TRY(put_numbers(c, output++, s.numbers,
                           o->numbers == HR_VIDEO_NUMBERS_SCALAR ? 1 : s.count, error));
    return o->times ? put_times(c, output, &s, error) : HR_STATUS_OK;
}

const hr_source_def hr_video_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_video_reader_count,
    .name = hr_video_reader_name,
    .locate = hr_video_reader_locate,
    .emit = emit,
    .label = hr_video_reader_label,
};
