/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/webp_encode.h"

#include <string.h>

#include <webp/encode.h>

static hr_status fail(const WebPPicture *picture, hr_error *error)
{
    bool memory = picture->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
                  picture->error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
    return hr_fail(error, memory ? HR_STATUS_NO_MEMORY : HR_STATUS_ERROR,
                   "libwebp cannot encode the image (error %d)", (int)picture->error_code);
}

static bool encode(const WebPConfig *config, WebPPicture *picture, const uint8_t *pixels,
                   bool alpha)
{
    int stride = picture->width * (alpha ? 4 : 3);
    return (alpha ? WebPPictureImportRGBA(picture, pixels, stride)
                  : WebPPictureImportRGB(picture, pixels, stride)) &&
           WebPEncode(config, picture);
}

hr_status hr_webp_encode(const uint8_t *pixels, int32_t height, int32_t width, bool alpha,
                         const hr_webp_encoding *how, hr_arena *arena, const uint8_t **file,
                         size_t *size, hr_error *error)
{
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter memory;

    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture))
        return hr_fail(error, HR_STATUS_ERROR, "libwebp is of another version than its headers");
    config.quality = how->quality;
    config.method = how->method;
    config.lossless = how->lossless;
    config.exact = 1; /* colours where alpha is 0 */
    picture.use_argb = how->lossless;
    picture.height = height;
    picture.width = width;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &memory;
    WebPMemoryWriterInit(&memory);
    hr_status status = HR_STATUS_OK;
    uint8_t *copy = NULL;
    if (!encode(&config, &picture, pixels, alpha))
        status = fail(&picture, error);
    else if (!(copy = hr_arena_alloc(arena, memory.size, error)))
        status = HR_STATUS_NO_MEMORY;
    else
        memcpy(copy, memory.mem, memory.size);
    *file = copy;
    *size = memory.size;
    WebPMemoryWriterClear(&memory);
    WebPPictureFree(&picture);
    return status;
}
