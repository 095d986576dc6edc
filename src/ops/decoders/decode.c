/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Encoded images as sources of image programs. */
#include "ops/decoders/decode.h"

#include "core/task.h"

static hr_decode_request make_request(const hr_decode_image *image, hr_window window)
{
    return (hr_decode_request){.window = window,
                               .type = image->type,
                               .dtype = image->dtype,
                               .adjust_orientation = image->adjust_orientation};
}

static hr_status decode_window(void *context, hr_window window, void *dst, size_t stride,
                               hr_op_call *c, hr_error *error)
{
    const hr_decode_image *image = context;
    hr_decode_request request = make_request(image, window);

    request.dst = dst;
    request.stride = stride;
    return hr_image_decode(image->bytes, image->size, &image->info, &request, c, error);
}

static hr_status open_rows(void *context, hr_window window, hr_op_call *c, hr_error *error)
{
    hr_decode_image *image = context;
    hr_decode_request request = make_request(image, window);

    return hr_image_open(image->bytes, image->size, &image->info, &request, c, &image->reader,
                         error);
}

static hr_status read_rows(void *context, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    const hr_decode_image *image = context;

    return hr_image_read(image->reader, dst, stride, rows, error);
}

static hr_status stage_window(void *context, hr_window window, hr_staging *staging,
                              hr_arena *lasting, hr_op_call *c, struct hr_coded *out,
                              hr_error *error)
{
    const hr_decode_image *image = context;
    hr_decode_request request = make_request(image, window);

    return hr_image_stage(image->bytes, image->size, &image->info, &request, c, staging, lasting,
                          out, error);
}

static hr_status check_types(const hr_decode_args *args, hr_error *error)
{
    if (args->dtype == HR_DTYPE_NONE || hr_image_dtype_ok((hr_dtype)args->dtype))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s; it must be UINT8, INT8, UINT16, INT16, INT32, FLOAT or ANY",
                   hr_dtype_name((hr_dtype)args->dtype));
}

typedef hr_status (*probe_fn)(const uint8_t *bytes, size_t size, int32_t page, int64_t max_pixels,
                              hr_image_info *info, hr_error *error);

static hr_status open_image(hr_op_call *c, const hr_decode_args *args, probe_fn probe,
                            hr_decode_image **out, hr_error *error)
{
    const hr_tensor *in = &c->in[0];

    HR_TRY(check_types(args, error));
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    hr_decode_image *image = hr_arena_alloc(c->arena, sizeof(*image), error);
    HR_TRY_ALLOC(image);
    *image = (hr_decode_image){.bytes = in->data,
                               .size = (size_t)in->shape.extent[0],
                               .type = (hr_image_type)args->output_type,
                               .dtype = (hr_dtype)args->dtype,
                               .adjust_orientation = args->adjust_orientation != 0};
    HR_TRY(probe(image->bytes, image->size, HR_MAX(args->page, 0), hr_task_max_pixels(c->task),
                 &image->info, error));
    if (image->dtype == HR_DTYPE_NONE)
        image->dtype = hr_image_own_dtype(&image->info);
    hr_image_extent(&image->info, image->adjust_orientation, &image->height, &image->width);
    *out = image;
    return HR_STATUS_OK;
}

hr_status hr__decode_peek(hr_op_call *c, const hr_decode_args *args, hr_decode_image **out,
                          hr_error *error)
{
    return open_image(c, args, hr_image_peek_page, out, error);
}

hr_status hr__decode_open(hr_op_call *c, const hr_decode_args *args, hr_decode_image **out,
                          hr_error *error)
{
    HR_TRY(open_image(c, args, hr_image_probe_page, out, error));
    const hr_image_info *info = &(*out)->info;
    if (info->bits > 8 && hr_dtype_size((*out)->dtype) == 1)
        hr_task_note(c->task, "pixels of more than 8 bits become 8 bits, because `dtype` is UINT8 "
                              "or INT8; `dtype=types.ANY` keeps the depth of the file");
    if (args->page >= 0 || args->all_pages)
        return HR_STATUS_OK;
    return hr_image_warn_others(
        info,
        info->codec->paged
            ? ": choose one with `page`, or take all with `all_pages=True`"
            : ": `page=0` says that the first is meant, the only one that can be decoded",
        c->task, error);
}

static hr_status start_program(hr_image_program *program, hr_decode_image *image, hr_window window,
                               hr_error *error)
{
    hr_image_source source = {.context = image,
                              .decode = decode_window,
                              .open = open_rows,
                              .read = read_rows,
                              .stage = stage_window};
    int32_t channels = hr_image_type_channels(&image->info, image->type);

    HR_TRY(hr_program_from_coded(program, source, image->dtype, image->height, image->width,
                                 channels, error));
    if (window.y == 0 && window.x == 0 && window.h == image->height && window.w == image->width)
        return HR_STATUS_OK;
    return hr_program_crop(program, window, NULL, 0, error);
}

hr_status hr__decode_lower(hr_op_call *c, hr_decode_window_fn window, hr_image_program *program,
                           hr_error *error)
{
    const hr_decode_args *args = c->args;
    hr_decode_image *image = NULL;
    hr_window part;

    if (args->all_pages)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(hr__decode_open(c, args, &image, error));
    HR_TRY(window(c, image, &part, error));
    return start_program(program, image, part, error);
}
