/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* All pages of a file as the frames of one tensor. */
#include "ops/decoders/decode.h"

enum { MAX_PAGES = 1 << 14 }; /* finding page i takes i steps */

/* What `infer` leaves for `run`. */
typedef struct pages {
    const hr_decode_image *first;
    hr_window window;
    hr_image_info *info; /* of each page */
} pages;

static hr_status check_total(const hr_op_call *c, const hr_decode_image *p, hr_error *error)
{
    int64_t limit = hr_task_max_pixels(c->task), page = p->height * p->width;
    if (p->info.pages > MAX_PAGES)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the file has %d pages; at most %d can be decoded at once", p->info.pages,
                       MAX_PAGES);
    if (page > limit / p->info.pages)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "%d pages of %lldx%lld pixels (width x height) are over the limit of %lld "
                       "pixels (max_image_pixels)",
                       p->info.pages, (long long)p->width, (long long)p->height, (long long)limit);
    return HR_STATUS_OK;
}

/* The headers of all pages, which have to agree. */
static hr_status probe_pages(hr_op_call *c, pages *s, hr_error *error)
{
    const hr_decode_image *p = s->first;
    int64_t height, width;
    int32_t channels = hr_image_type_channels(&p->info, p->type);
    for (int32_t i = 0; i < p->info.pages; i++) {
        hr_image_info *info = &s->info[i];
        if (hr_image_animated(&p->info)) { /* all frames have the size of the image */
            *info = p->info;
            info->page = i;
            continue;
        }
        HR_TRY(hr_image_probe_page(p->bytes, p->size, i, hr_task_max_pixels(c->task), info, error));
        hr_image_extent(info, p->adjust_orientation, &height, &width);
        if (height != p->height || width != p->width ||
            hr_image_type_channels(info, p->type) != channels)
            return hr_fail(error, HR_STATUS_ERROR,
                           "page %d has %lldx%lld pixels (width x height) and %d channels, but "
                           "page 0 has %lldx%lld and %d: take one with `page` instead of "
                           "`all_pages`",
                           i, (long long)width, (long long)height,
                           hr_image_type_channels(info, p->type), (long long)p->width,
                           (long long)p->height, channels);
    }
    return HR_STATUS_OK;
}

hr_status hr__pages_infer(hr_op_call *c, hr_decode_window_fn window, hr_error *error)
{
    const hr_decode_args *args = c->args;
    hr_decode_image *first = NULL;
    if (c->staging)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`all_pages` is supported with device=\"cpu\" only; `.gpu()` moves the "
                       "frames to the GPU");
    HR_TRY(hr__decode_open(c, args, &first, error));
    HR_TRY(check_total(c, first, error));
    pages *s = hr_arena_alloc(c->arena, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    *s = (pages){.first = first};
    s->info = hr_arena_alloc(c->arena, (size_t)first->info.pages * sizeof(*s->info), error);
    HR_TRY_ALLOC(s->info);
    HR_TRY(probe_pages(c, s, error));
    HR_TRY(window(c, first, &s->window, error));
    hr_shape shape = {4,
                      {first->info.pages, s->window.h, s->window.w,
                       hr_image_type_channels(&first->info, first->type)}};
    hr_tensor_describe(&c->out[0], first->dtype, shape, "FHWC");
    c->memo = s;
    return HR_STATUS_OK;
}

static hr_status decode_pages(const pages *s, hr_op_call *c, hr_animation *animation,
                              hr_error *error)
{
    const hr_decode_image *p = s->first;
    const int64_t *extent = c->out[0].shape.extent;
    size_t row = (size_t)(extent[2] * extent[3]) * hr_dtype_size(p->dtype);
    for (int32_t i = 0; i < p->info.pages; i++) {
        const hr_decode_request request = {.window = s->window,
                                           .type = p->type,
                                           .dtype = p->dtype,
                                           .adjust_orientation = p->adjust_orientation,
                                           .dst = (char *)c->out[0].data +
                                                  (size_t)i * (size_t)extent[1] * row,
                                           .stride = row,
                                           .animation = animation};
        if (hr_image_decode(p->bytes, p->size, &s->info[i], &request, c, error) != HR_STATUS_OK)
            return hr_error_prefix(error, "page %d", i);
    }
    return HR_STATUS_OK;
}

hr_status hr__pages_run(hr_op_call *c, hr_error *error)
{
    const pages *s = c->memo;
    const hr_decode_image *p = s->first;
    hr_animation *animation = NULL;
    if (hr_image_animated(&p->info))
        HR_TRY(hr_animation_open(p->bytes, p->size, &p->info, c, &animation, error));
    hr_status status = decode_pages(s, c, animation, error);
    hr_animation_close(animation);
    return status;
}
