/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/select.h"

#include <string.h>

hr_video_pad_mode hr_video_pad_mode_of(const char *name)
{
    static const struct {
        const char *name;
        hr_video_pad_mode mode;
    } modes[] = {{"constant", HR_VIDEO_PAD_CONSTANT},
                 {"edge", HR_VIDEO_PAD_EDGE},
                 {"repeat", HR_VIDEO_PAD_EDGE},
                 {"reflect_1001", HR_VIDEO_PAD_REFLECT_1001},
                 {"symmetric", HR_VIDEO_PAD_REFLECT_1001},
                 {"reflect_101", HR_VIDEO_PAD_REFLECT_101},
                 {"reflect", HR_VIDEO_PAD_REFLECT_101}};
    for (size_t i = 0; i < HR_COUNT_OF(modes); i++)
        if (strcmp(modes[i].name, name) == 0)
            return modes[i].mode;
    return HR_VIDEO_PAD_NONE;
}

int32_t hr_video_pad(hr_video_pad_mode mode, int64_t index, int32_t count)
{
    if (index >= 0 && index < count)
        return (int32_t)index;
    if (mode == HR_VIDEO_PAD_EDGE)
        return index < 0 ? 0 : count - 1;
    if (mode == HR_VIDEO_PAD_NONE || mode == HR_VIDEO_PAD_CONSTANT)
        return -1;
    bool twice = mode == HR_VIDEO_PAD_REFLECT_1001; /* the first and the last frame repeat */
    int64_t period = twice ? 2 * (int64_t)count : HR_MAX(2 * (int64_t)count - 2, 1);
    int64_t at = (index % period + period) % period;
    return (int32_t)(at < count ? at : period - (twice ? 1 : 0) - at);
}

hr_status hr_video_select(hr_video_pad_mode mode, int32_t frames, int64_t start, int64_t stride,
                          int64_t length, hr_arena *arena, int32_t **numbers, int32_t *count,
                          hr_error *error)
{
    if (mode == HR_VIDEO_PAD_NONE) {
        if (start < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "the sequence begins at frame %lld, which does not exist; a pad_mode "
                           "other than \"none\" replaces such frames",
                           (long long)start);
        length = HR_MIN(length, start < frames ? HR_DIVIDE_UP(frames - start, stride) : 0);
    }
    if (length > HR_VIDEO_MOST_FRAMES)
        return hr_fail(error, HR_STATUS_LIMIT, "%lld frames are more than the limit of %d",
                       (long long)length, HR_VIDEO_MOST_FRAMES);
    if (!(*numbers = hr_arena_alloc(arena, (size_t)HR_MAX(length, 1) * sizeof(int32_t), error)))
        return HR_STATUS_NO_MEMORY;
    for (int64_t i = 0; i < length; i++)
        (*numbers)[i] = hr_video_pad(mode, start + i * stride, frames);
    *count = (int32_t)length;
    return HR_STATUS_OK;
}
