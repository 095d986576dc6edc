/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* AVIF and HEIC: images in the boxes of HEIF, coded with AV1 and HEVC, for which the package
 * headrace-video has decoders. Rotation and mirror count as orientation, and a clean aperture as
 * the image. Profiles (ICC) and transfer functions are ignored, as in other formats. */
#include "codecs/codec.h"

#include "codecs/heif/colours.h"
#include "codecs/heif/image.h"
#include "codecs/video/frames.h"

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    hr_heif h;
    hr_heif_image m;
    HR_TRY(hr_heif_open(bytes, size, &h, error));
    hr_status status = hr_heif_describe(&h, &m, error);
    hr_heif_fini(&h);
    if (status != HR_STATUS_OK)
        return status;
    info->height = (int32_t)m.height;
    info->width = (int32_t)m.width;
    info->channels = (m.main.grey ? 1 : 3) + (m.alpha.item != NULL);
    info->bits = m.main.bits > 8 ? 16 : 8;
    info->orientation = m.orientation;
    return hr_image_set_pages(info, 1 + m.others, m.others, error);
}

static hr_status put(const hr_heif *h, const hr_heif_picture *picture, bool is_alpha,
                     const hr_heif_image *m, const hr_image_info *info,
                     const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    /* Alpha has a range, but no matrix. */
    const hr_heif_colours plain = {.matrix = -1};
    hr_window w = request->window;
    hr_heif_planes planes = {0};
    hr_heif_pixels pixels;
    HR_TRY(hr_video_module_open(&planes.module, error));
    w.x += m->x;
    w.y += m->y;
    hr_status status = hr_heif_decode(h, picture, &w, c, &planes, error);
    if (status == HR_STATUS_OK)
        status = hr_heif_pixels_init(&pixels, &planes.picture, is_alpha ? &plain : &m->colours,
                                     (uint32_t)info->bits, (uint32_t)request->channels, (size_t)w.w,
                                     c->arena, error);
    for (int64_t y = 0; status == HR_STATUS_OK && y < w.h; y++)
        (is_alpha ? hr_heif_alpha_put
                  : hr_heif_pixels_put)(&pixels, (int32_t)w.x, (int32_t)(w.y + y), (size_t)w.w,
                                        (uint8_t *)request->dst + (size_t)y * request->stride);
    hr_heif_planes_fini(&planes, c->arena);
    return status;
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    hr_heif h;
    hr_heif_image m;
    HR_TRY(hr_heif_open(bytes, size, &h, error));
    hr_status status = hr_heif_describe(&h, &m, error);
    if (status == HR_STATUS_OK)
        status = put(&h, &m.main, false, &m, info, request, c, error);
    bool alpha = request->channels == 2 || request->channels == 4;
    if (status == HR_STATUS_OK && alpha)
        status = put(&h, &m.alpha, true, &m, info, request, c, error);
    hr_heif_fini(&h);
    return status;
}

const hr_codec hr_codec_heif = {
    .name = "heif",
    .library = "headrace-video",
    .version = hr_video_module_version,
    .match = hr_heif_match,
    .header = header,
    .decode = decode,
    .luma_bits = 16,
};
