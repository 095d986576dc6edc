/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.volume: volumes with the values that their files mean. */
#include "codecs/volume/volume.h"

#include "core/task.h"

enum { CHUNK = 1024 };

typedef struct volume_args {
    int32_t dtype, rescale;
} volume_args;

/* What `infer` leaves for `run`. */
typedef struct work {
    hr_volume volume;
    bool scaled;
} work;

static hr_status volume_infer(hr_op_call *c, hr_error *error)
{
    const volume_args *args = c->args;
    const hr_tensor *in = &c->in[0];
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    work *w = hr_arena_alloc(c->arena, sizeof(*w), error);
    HR_TRY_ALLOC(w);
    hr_volume *v = &w->volume;
    HR_TRY(hr_volume_open(in->data, (size_t)in->shape.extent[0], c, v, error));
    if (args->rescale && v->unscaled)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s: %s, which is not supported; `rescale=False` gives the stored values",
                       v->format->name, v->unscaled);
    if (v->notice)
        hr_task_note(c->task, v->notice);
    w->scaled = args->rescale && (v->slope != 1 || v->intercept != 0);
    hr_dtype any = w->scaled ? HR_DTYPE_FLOAT : v->dtype;
    hr_tensor_describe(&c->out[0], args->dtype == HR_DTYPE_NONE ? any : (hr_dtype)args->dtype,
                       v->shape, v->layout);
    c->memo = w;
    return HR_STATUS_OK;
}

/* In double precision, a chunk at a time. */
static void rescale(const hr_volume *v, const char *from, hr_tensor *out, size_t count)
{
    double chunk[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t n = HR_MIN(count - at, (size_t)CHUNK);
        hr_convert(chunk, HR_DTYPE_FLOAT64, from + at * hr_dtype_size(v->dtype), v->dtype, n);
        for (size_t i = 0; i < n; i++)
            chunk[i] = v->slope * chunk[i] + v->intercept;
        hr_convert((char *)out->data + at * hr_dtype_size(out->dtype), out->dtype, chunk,
                   HR_DTYPE_FLOAT64, n);
    }
}

static hr_status volume_one(hr_op_call *c, hr_error *error)
{
    const work *w = c->memo;
    const hr_volume *v = &w->volume;
    hr_tensor *out = &c->out[0];
    size_t count = 0;
    hr_shape_volume(&out->shape, &count);
    if (!w->scaled && out->dtype == v->dtype)
        return v->format->read(v, c, out->data, error);
    char *stored = hr_arena_alloc(c->arena, count * hr_dtype_size(v->dtype), error);
    HR_TRY_ALLOC(stored);
    HR_TRY(v->format->read(v, c, stored, error));
    if (w->scaled)
        rescale(v, stored, out, count);
    else
        hr_convert(out->data, out->dtype, stored, v->dtype, count);
    return HR_STATUS_OK;
}

static hr_status volume_run(hr_op_call *c, hr_error *error)
{
    return volume_one(c, error);
}

const hr_op_def hr_op_decoders_volume = {
    HR_OP("decoders.volume"),
    .doc = "Decodes volumes: medical and microscopic images in DICOM, NIfTI (also compressed with "
           "gzip) and TIFF files, recognised by content. Not in DALI. The input is the bytes of "
           "one file per sample (1-D, UINT8). The output is DHW, or DHWC for colours: slices are "
           "the frames of a DICOM file, the third axis of NIfTI, or the pages of a TIFF file. A "
           "NIfTI file with times is FDHW. A single slice is a volume of depth 1.",
    .devices = "cpu",
    HR_ARGS(volume_args,
            HR_ARG(volume_args, dtype, DTYPE, HR_ARG_ANY_TYPE, "FLOAT",
                   "Type of the output. Values are converted as by `cast`, and are never scaled to "
                   "the range of the type. ANY is the type of the file where its values are taken "
                   "as they are stored, and otherwise FLOAT."),
            HR_ARG(volume_args, rescale, BOOL, 0, "True",
                   "Apply the slope and the intercept that the file gives, so that a CT image has "
                   "Hounsfield units. False: the values that are stored.")),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"volume"}),
    .infer = volume_infer,
    .run = volume_run,
};
