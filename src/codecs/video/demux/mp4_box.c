/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/mp4_box.h"

bool hr_mp4_next(hr_mp4_span *in, uint32_t *type, hr_mp4_span *box)
{
    if (in->size < 8)
        return false;
    uint64_t size = hr_get_be32(in->p);
    size_t head = 8;
    *type = hr_get_be32(in->p + 4);
    if (size == 1 && in->size >= 16) {
        size = hr_mp4_be64(in->p + 8);
        head = 16;
    } else if (size == 0) {
        size = in->size;
    }
    if (size < head)
        return false;
    size_t all = (size_t)HR_MIN(size, (uint64_t)in->size);
    *box = (hr_mp4_span){in->p + head, all - head};
    in->p += all;
    in->size -= all;
    return true;
}

hr_mp4_span hr_mp4_find(hr_mp4_span in, uint32_t type)
{
    uint32_t found;
    hr_mp4_span box;
    while (hr_mp4_next(&in, &found, &box))
        if (found == type)
            return box;
    return (hr_mp4_span){0};
}
