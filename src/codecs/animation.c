/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Animations: a frame is what its file draws over the frames before it. */
#include "codecs/codec.h"

#include <string.h>

struct hr_animation {
    const hr_codec *codec;
    void *state;
    int32_t drawn;       /* frames */
    const uint8_t *rgba; /* the last of them */
};

bool hr_image_animated(const hr_image_info *info)
{
    return info->pages > 1 && info->codec->animate;
}

hr_status hr_animation_open(const uint8_t *bytes, size_t size, const hr_image_info *info,
                            hr_op_call *c, hr_animation **out, hr_error *error)
{
    hr_animation *a = hr_arena_alloc(c->arena, sizeof(*a), error);
    HR_TRY_ALLOC(a);
    *a = (hr_animation){.codec = info->codec};
    HR_TRY(info->codec->animate(bytes, size, info, c, &a->state, error));
    *out = a;
    return HR_STATUS_OK;
}

void hr_animation_close(hr_animation *a)
{
    if (a && a->codec->still)
        a->codec->still(a->state);
}

static hr_status draw_to(hr_animation *a, int32_t page, hr_error *error)
{
    if (a->drawn > page + 1)
        return hr_fail(error, HR_STATUS_ERROR, "pages of an animation are not asked for in order");
    while (a->drawn <= page) {
        HR_TRY(a->codec->frame(a->state, &a->rgba, error));
        a->drawn++;
    }
    return HR_STATUS_OK;
}

/* `rgba`: the first pixel of the window. */
static void copy_row(uint8_t *dst, const uint8_t *rgba, size_t n, int32_t channels)
{
    if (channels == 4) {
        memcpy(dst, rgba, 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(dst + 3 * i, rgba + 4 * i, 3);
}

static hr_status show(hr_animation *a, const hr_image_info *info, const hr_codec_request *request,
                      hr_error *error)
{
    const hr_window *w = &request->window;
    HR_TRY(draw_to(a, info->page, error));
    for (int64_t y = 0; y < w->h; y++)
        copy_row((uint8_t *)request->dst + (size_t)y * request->stride,
                 a->rgba + 4 * (size_t)((w->y + y) * info->width + w->x), (size_t)w->w,
                 request->channels);
    return HR_STATUS_OK;
}

/* Drawing takes as much work as decoding so many images. */
static hr_status check_work(const hr_image_info *info, const hr_op_call *c, hr_error *error)
{
    int64_t limit = hr_task_max_pixels(c->task), frame = (int64_t)info->height * info->width;
    if (frame <= limit / (info->page + 1))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "page %d is drawn over %d others of %dx%d pixels (width x height), which "
                   "together are over the limit of %lld pixels (max_image_pixels)",
                   info->page, info->page, info->width, info->height, (long long)limit);
}

hr_status hr_animation_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                              const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    if (request->animation)
        return show(request->animation, info, request, error);
    hr_animation *a = NULL;
    HR_TRY(check_work(info, c, error));
    HR_TRY(hr_animation_open(bytes, size, info, c, &a, error));
    hr_status status = show(a, info, request, error);
    hr_animation_close(a);
    return status;
}
