/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Encoded pictures as sources of image programs. */
#include "ops/decoders/decode.h"

static hr_decode_request make_request(const hr_decode_picture *picture, hr_window window)
{
    return (hr_decode_request){.window = window,
                               .type = picture->type,
                               .dtype = picture->dtype,
                               .adjust_orientation = picture->adjust_orientation};
}

static hr_status decode_window(void *context, hr_window window, void *dst, size_t stride,
                               hr_op_call *c, hr_error *error)
{
    const hr_decode_picture *picture = context;
    hr_decode_request request = make_request(picture, window);

    request.dst = dst;
    request.stride = stride;
    return hr_image_decode(picture->bytes, picture->size, &picture->info, &request, c, error);
}

static hr_status open_rows(void *context, hr_window window, hr_op_call *c, hr_error *error)
{
    hr_decode_picture *picture = context;
    hr_decode_request request = make_request(picture, window);

    return hr_image_open(picture->bytes, picture->size, &picture->info, &request, c,
                         &picture->reader, error);
}

static hr_status read_rows(void *context, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    const hr_decode_picture *picture = context;

    return hr_image_read(picture->reader, dst, stride, rows, error);
}

static hr_status stage_window(void *context, hr_window window, hr_staging *staging,
                              hr_arena *lasting, hr_op_call *c, struct hr_coded *out,
                              hr_error *error)
{
    const hr_decode_picture *picture = context;
    hr_decode_request request = make_request(picture, window);

    return hr_image_stage(picture->bytes, picture->size, &picture->info, &request, c, staging,
                          lasting, out, error);
}

static hr_status check_types(const hr_decode_args *args, hr_error *error)
{
    if (hr_image_dtype_ok((hr_dtype)args->dtype))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s; it must be UINT8, INT8, UINT16, INT16, INT32 or FLOAT",
                   hr_dtype_name((hr_dtype)args->dtype));
}

typedef hr_status (*probe_fn)(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                              hr_image_info *info, hr_error *error);

static hr_status open_picture(hr_op_call *c, const hr_decode_args *args, probe_fn probe,
                              hr_decode_picture **out, hr_error *error)
{
    const hr_tensor *in = &c->in[0];

    HR_TRY(check_types(args, error));
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    hr_decode_picture *picture = hr_arena_alloc(c->arena, sizeof(*picture), error);
    if (!picture)
        return HR_STATUS_NO_MEMORY;
    *picture = (hr_decode_picture){.bytes = in->data,
                                   .size = (size_t)in->shape.extent[0],
                                   .type = (hr_image_type)args->output_type,
                                   .dtype = (hr_dtype)args->dtype,
                                   .adjust_orientation = args->adjust_orientation != 0};
    HR_TRY(probe(picture->bytes, picture->size, HR_MAX(args->page, 0), hr_task_max_pixels(c->task),
                 &picture->info, error));
    hr_image_extent(&picture->info, picture->adjust_orientation, &picture->height, &picture->width);
    *out = picture;
    return HR_STATUS_OK;
}

hr_status hr__decode_peek(hr_op_call *c, const hr_decode_args *args, hr_decode_picture **out,
                          hr_error *error)
{
    return open_picture(c, args, hr_image_peek_page, out, error);
}

hr_status hr__decode_open(hr_op_call *c, const hr_decode_args *args, hr_decode_picture **out,
                          hr_error *error)
{
    HR_TRY(open_picture(c, args, hr_image_probe_page, out, error));
    const hr_image_info *info = &(*out)->info;
    if (args->page >= 0 || args->all_pages)
        return HR_STATUS_OK;
    return hr_image_warn_others(
        info,
        info->codec->paged
            ? ": choose one with `page`, or take all with `all_pages=True`"
            : ": `page=0` says that the first is meant, the only one that can be decoded",
        c->task, error);
}

static hr_status start_program(hr_image_program *program, hr_decode_picture *picture,
                               hr_window window, hr_error *error)
{
    hr_image_source source = {.context = picture,
                              .decode = decode_window,
                              .open = open_rows,
                              .read = read_rows,
                              .stage = stage_window};
    int32_t channels = hr_image_type_channels(&picture->info, picture->type);

    HR_TRY(hr_program_from_coded(program, source, picture->dtype, picture->height, picture->width,
                                 channels, error));
    if (window.y == 0 && window.x == 0 && window.h == picture->height && window.w == picture->width)
        return HR_STATUS_OK;
    return hr_program_crop(program, window, NULL, 0, error);
}

hr_status hr__decode_lower(hr_op_call *c, hr_decode_window_fn window, hr_image_program *program,
                           hr_error *error)
{
    const hr_decode_args *args = c->args;
    hr_decode_picture *picture = NULL;
    hr_window part;

    if (args->all_pages)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(hr__decode_open(c, args, &picture, error));
    HR_TRY(window(c, picture, &part, error));
    return start_program(program, picture, part, error);
}
