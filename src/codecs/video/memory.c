/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/memory.h"

#include <string.h>

static hr_status read_memory(void *user, int64_t offset, size_t size, void *dst, hr_error *error)
{
    (void)error;
    memcpy(dst, (const uint8_t *)user + offset, size);
    return HR_STATUS_OK;
}

hr_video_file hr_video_file_of(const void *bytes, size_t size)
{
    return (hr_video_file){
        .read = read_memory, .user = (void *)(uintptr_t)bytes, .size = (int64_t)size};
}
